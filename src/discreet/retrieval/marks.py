"""What a memory is found by besides its words: who speaks in it, and the month and year in which it was said.

Marks are dimensions of the same sparse vectors as words, so that they cost a search nothing of its own. They weigh the
same however common they are, and are no words: a memory that only shares a mark with a question shares no word with it.

LoCoMo, development half, R@5 / R@10 / MRR: .696 / .769 / .583 without marks, .710 / .780 / .600 with speakers,
.723 / .799 / .614 with both. benchmarks/retrieval_quality.py measures them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from discreet.retrieval.dates import months, years
from discreet.retrieval.tokens import tokens

_LABEL = re.compile(r"\s*(?P<label>[^\W\d_][^\s:\uff1a]*(?: [^\s:\uff1a]+){0,2})\s?(?::\s|\uff1a)")
"""Up to three words and a colon, as at the start of a line of a transcript, a form or a list of facts."""


def marks_of(text: str, said: datetime) -> dict[str, float]:
    """Return the marks of a memory and how much of each it has. A label of several words is shared out among them."""
    label = _LABEL.match(text)
    speakers = set(tokens(label["label"])) if label else set()
    utc = said.astimezone(UTC)
    return {_month(utc.month): 1.0, _year(utc.year): 1.0} | {_speaker(word): 1 / len(speakers) for word in speakers}


def marks_asked(question: str, words: list[str]) -> list[str]:
    """Return the marks that a question, whose tokens are `words`, asks for."""
    asked = [*map(_month, sorted(months(question))), *map(_year, sorted(years(question)))]
    return [*asked, *map(_speaker, dict.fromkeys(words))]


def _speaker(word: str) -> str:
    return f"speaker: {word}"


def _month(month: int) -> str:
    return f"month: {month}"


def _year(year: int) -> str:
    return f"year: {year}"
