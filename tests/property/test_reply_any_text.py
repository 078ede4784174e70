"""Whatever a model writes, a reply is a score from 1 to 5 or none."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from worker.judging.completion import Completion, read_completion
from worker.judging.outcomes import Failure
from worker.judging.reply import Token, read_reply, weigh

PIECES = st.sampled_from(
    ["<score>", "</score>", "<Score >", "< /score>", "4", "5", "0", "7", "4/5", "4.5", " ", "\n", "Score- ",
     "<think>", "</think>", "<", ">", "/", "**", "é", "４", "\x00", "<score>3</score>"]
)  # fmt: skip
TAGGED = st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=30).map("".join)
LOGPROBS = st.floats(allow_nan=False, allow_infinity=True)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TAGGED),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=10,
)
ANY_LOGPROBS = st.fixed_dictionaries(
    {
        "content": st.lists(
            st.fixed_dictionaries({"token": TAGGED, "logprob": JSON, "bytes": JSON, "top_logprobs": JSON}),
            max_size=3,
        )
    }
)
ANY_BODY = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries(
                {"message": st.one_of(JSON, st.fixed_dictionaries({"content": JSON, "refusal": JSON})),
                 "finish_reason": JSON, "logprobs": st.one_of(JSON, ANY_LOGPROBS)}
            ),
            max_size=2,
        ),
        "usage": st.one_of(JSON, st.fixed_dictionaries({"prompt_tokens": JSON, "completion_tokens": JSON, "prompt_tokens_details": JSON})),
        "model": JSON,
    }
)  # fmt: skip


@given(st.one_of(st.text(), TAGGED))
def test_any_text_is_a_score_from_one_to_five_or_none(text: str) -> None:
    reading = read_reply(text)

    assert reading is None or 1 <= reading.score <= 5


@given(TAGGED.filter(lambda text: "think" not in text), st.integers(1, 5))
def test_a_proper_last_line_is_always_read(text: str, score: int) -> None:
    reading = read_reply(f"{text}\nScore- <score>{score}</score>")

    assert reading is not None
    assert reading.score == score


@given(
    TAGGED,
    st.lists(st.integers(0, 200), max_size=6),
    st.lists(st.tuples(TAGGED, LOGPROBS), min_size=1, max_size=4),
    LOGPROBS,
)
def test_any_split_into_tokens_gives_shares_that_add_up_or_none(
    text: str, cuts: list[int], others: list[tuple[str, float]], logprob: float
) -> None:
    data = f"{text}<score>4</score>".encode("utf-8", "surrogatepass")
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    alternatives = tuple((other.encode("utf-8", "surrogatepass"), value) for other, value in others)
    pairs = itertools.pairwise(places)
    weights = weigh([Token(data[start:end], logprob, alternatives) for start, end in pairs], 4)

    if weights is not None:
        assert abs(sum(weights.distribution) - 1) < 1e-9
        assert 1 <= weights.expected <= 5


@given(st.one_of(JSON, ANY_BODY))
def test_any_body_is_a_completion_or_a_fault_of_the_server(body: Any) -> None:
    body = json.loads(json.dumps(body))
    try:
        completion = read_completion(body, "asked")
    except Failure:
        return

    assert isinstance(completion, Completion)
    assert completion.model
    if completion.usage is not None:
        assert 0 <= completion.usage.cached <= completion.usage.prompt
    if completion.tokens is not None:
        weigh(completion.tokens, 4)
