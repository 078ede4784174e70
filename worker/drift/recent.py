"""A bounded memory of event ids, so that a repeat doesn't count twice.

Kept as eight-byte digests on pages of a fixed size. A full page never changes again, and the oldest one
gives its place to the newest: whoever stores the pages writes only the few that changed.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import blake2b

CAPACITY = 50_000
PAGE = 1_000
_WIDTH = 8


class RecentIds:
    """The latest ids of one partition; at least `capacity` of them, at most a page more."""

    def __init__(self, capacity: int = CAPACITY, page: int = PAGE) -> None:
        self._page = page
        self._slots = -(-capacity // page) + 1
        self._pages: dict[int, bytearray] = {0: bytearray()}
        self._newest = 0
        self._known: set[bytes] = set()
        self._changed: set[int] = set()

    def add(self, event_id: str) -> bool:
        """Remember an id; whether it is new."""
        digest = blake2b(event_id.encode("utf-8"), digest_size=_WIDTH).digest()
        if digest in self._known:
            return False
        if len(self._pages[self._newest]) >= self._page * _WIDTH:
            self._turn_page()
        self._pages[self._newest] += digest
        self._known.add(digest)
        self._changed.add(self._newest)
        return True

    def __len__(self) -> int:
        return len(self._known)

    def take_changed(self) -> dict[str, str]:
        """The pages changed since the last call, by slot: what is to be stored."""
        changed = {self._slot(number): self._written(number) for number in sorted(self._changed)}
        self._changed.clear()
        return changed

    def to_pages(self) -> dict[str, str]:
        """All pages, by slot."""
        return {self._slot(number): self._written(number) for number in sorted(self._pages)}

    @classmethod
    def from_pages(cls, pages: Mapping[str, str], capacity: int = CAPACITY, page: int = PAGE) -> RecentIds:
        """The memory that was stored."""
        memory = cls(capacity, page)
        for written in pages.values():
            number, _, digests = written.partition(":")
            memory._pages[int(number)] = bytearray(b64decode(digests))
        memory._newest = max(memory._pages)
        if memory._newest >= memory._slots:
            memory._pages.pop(0, None)
        memory._known = {digest for kept in memory._pages.values() for digest in _digests(kept)}
        return memory

    def _turn_page(self) -> None:
        self._newest += 1
        self._pages[self._newest] = bytearray()
        oldest = self._pages.pop(self._newest - self._slots, None)
        if oldest is not None:
            self._known.difference_update(_digests(oldest))

    def _slot(self, number: int) -> str:
        return str(number % self._slots)

    def _written(self, number: int) -> str:
        return f"{number}:{b64encode(self._pages[number]).decode('ascii')}"


def _digests(page: bytearray) -> list[bytes]:
    return [bytes(page[start : start + _WIDTH]) for start in range(0, len(page), _WIDTH)]
