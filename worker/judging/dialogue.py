"""Asking a model for one score until its reply can be read."""

from __future__ import annotations

from dataclasses import dataclass

from worker.judging.client import ROOM, Message
from worker.judging.completion import Completion
from worker.judging.outcomes import CallOutcome
from worker.judging.reply import Reading, Weights, read_reply, weigh
from worker.rubrics import Prompt

#: How often an unreadable reply is asked for again, and a cut one with twice the room.
ASKED_AGAIN, CUT_AGAIN = 2, 2
REMINDER = (
    "Your last line must give one whole number from 1 to 5, strictly in this form: Score- <score>N</score>."
    " Answer again: a short explanation, then that line."
)


@dataclass(frozen=True)
class Reply:
    """A completion and what could be read from it."""

    completion: Completion
    outcome: CallOutcome
    reading: Reading | None = None
    weights: Weights | None = None


@dataclass
class Dialogue:
    """The messages so far and the room for the next reply."""

    messages: list[Message]
    room: int = ROOM
    unreadable: int = 0
    cut: int = 0

    def go_on(self, reply: Reply) -> bool:
        """Prepare to ask again; False where that has been done often enough."""
        if reply.outcome is CallOutcome.CUT:
            self.cut += 1
            self.room *= 2
            return self.cut <= CUT_AGAIN
        self.unreadable += 1
        said = {"role": "assistant", "content": reply.completion.text or "(no answer)"}
        self.messages = [*self.messages, said, {"role": "user", "content": REMINDER}]
        return self.unreadable <= ASKED_AGAIN


def messages_of(prompt: Prompt) -> list[Message]:
    """What is sent for one metric at first."""
    system = [{"role": "system", "content": prompt.system}] if prompt.system is not None else []
    return [*system, {"role": "user", "content": prompt.user}]


def read(completion: Completion, *, weighed: bool) -> Reply:
    """What a completion says, if anything."""
    if completion.refused:
        return Reply(completion, CallOutcome.REFUSED)
    if completion.cut:
        return Reply(completion, CallOutcome.CUT)
    reading = read_reply(completion.text)
    weights = weigh(completion.tokens or (), reading.score) if reading and weighed else None
    if reading is None or (weighed and weights is None):
        return Reply(completion, CallOutcome.UNREADABLE)
    return Reply(completion, CallOutcome.OK, reading, weights)
