"""What a memory is found by besides its words: who speaks in it, and the day it was said.

Marks are dimensions of the same sparse vectors as words, so that a search takes no step of its own for them. They weigh the
same however common they are, and are no words: a memory that only shares a mark with a question shares no word with it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from discreet.retrieval.dates import named_dates
from discreet.retrieval.tokens import tokens

_LABEL = re.compile(r"\s*(?P<label>[^\W\d_][^\s:\uff1a]*(?: [^\s:\uff1a]+){0,2})\s?(?::\s|\uff1a)")
"""Up to three words and a colon, as at the start of a line of a transcript, a form or a list of facts."""


def marks_of(text: str, said: datetime) -> dict[str, float]:
    """Return the marks of a memory and how much of each it has. A label of several words is shared out among them."""
    label = _LABEL.match(text)
    speakers = set(tokens(label["label"])) if label else set()
    utc = said.astimezone(UTC)
    dated = [_mark("day", utc.day), _mark("month", utc.month), _mark("year", utc.year)]
    return dict.fromkeys(dated, 1.0) | {_mark("speaker", word): 1 / len(speakers) for word in speakers}


def marks_asked(question: str, words: list[str]) -> list[str]:
    """Return the marks that a question, whose tokens are `words`, asks for."""
    named = named_dates(question)
    dated = {"day": named.days, "month": named.months, "year": named.years}
    asked = [_mark(kind, number) for kind, numbers in dated.items() for number in sorted(numbers)]
    return asked + [_mark("speaker", word) for word in words]


def _mark(kind: str, value: str | int) -> str:
    return f"{kind}: {value}"
