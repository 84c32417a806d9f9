"""Answers are checked in several threads at once, beside the saves of the event loop: what they share must bear it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from discreet.retrieval.tokens import stem

ENDS = ("", "s", "ing", "ed")
WORDS = [f"{word}{end}" for word in ("relational", "hopefulness", "allergies", "sensitivities") for end in ENDS]


def stems(_number=0):
    """Return the stems of all words, none of them remembered."""
    found = []
    for word in WORDS:
        stem.cache_clear()
        found.append(stem(word))
    return found


def test_words_have_the_same_stems_whoever_else_asks_for_some():
    alone, interval = stems(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(found == alone for found in threads.map(stems, range(200)))
    finally:
        sys.setswitchinterval(interval)
        stem.cache_clear()
