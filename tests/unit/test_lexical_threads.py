"""Judgements run in several threads at once and must not disturb each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from worker.judging.lexical import vocabulary

WORDS = [f"{start}{middle}{end}" for start in ("re", "un", "over") for middle in ("connect", "relat", "argu", "hop")
         for end in ("ions", "ional", "ingly", "ements", "izers", "fulness", "iveness", "ability")]  # fmt: skip


@pytest.fixture
def impatient_interpreter() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_stems_are_the_same_in_many_threads(impatient_interpreter: None) -> None:
    alone = [vocabulary._stem(word) for word in WORDS]
    with ThreadPoolExecutor(8) as pool:
        for together in pool.map(lambda _: [vocabulary._stem(word) for word in WORDS], range(40)):
            assert together == alone
