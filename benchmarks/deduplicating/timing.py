"""How long dedup takes for one text and for one pair, in microseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from discreet.retrieval.clauses import statements
from discreet.retrieval.dedup import judge
from discreet.retrieval.fact_features import wording

AT_MOST = {"us a text": 60.0, "us a pair": 40.0}
"""A batch save compares each new text with some twenty stored ones."""
_RUNS = 3


def measure_time(pairs: Sequence[tuple[str, str, float]]) -> dict[str, float]:
    """Return what reading a text takes, whose words were met before, and what comparing two texts that were read."""
    texts = sorted({text for new, old, _ in pairs for text in (new, old)})
    for text in texts:
        _read(text)
    return {
        "us a text": min(_each(_read_anew, texts) for _ in range(_RUNS)),
        "us a pair": min(_compared(pairs) for _ in range(_RUNS)),
    }


def _compared(pairs: Sequence[tuple[str, str, float]]) -> float:
    taken = 0.0
    for new, old, similarity in pairs:
        _read(new)
        _read(old)
        start = time.perf_counter()
        judge(new, old, similarity)
        taken += time.perf_counter() - start
    return taken / len(pairs) * 1e6


def _read(text: str) -> None:
    wording(text)
    statements(text)


def _read_anew(text: str) -> None:
    wording.__wrapped__(text)
    statements.__wrapped__(text)


def _each(call: Callable[[str], None], texts: Sequence[str]) -> float:
    start = time.perf_counter()
    for text in texts:
        call(text)
    return (time.perf_counter() - start) / len(texts) * 1e6
