"""What a recogniser is, and the common shape of those that are patterns plus a check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol, runtime_checkable

from discreet.redaction.normalized_text import Span, View


class Recogniser(Protocol):
    """Finds the values of one type."""

    @property
    def type(self) -> str:
        """Name of the placeholder: capital letters and underscores."""
        ...

    def spans(self, view: View) -> Iterable[Span]:
        """Return where values stand in `view.text`, in any order; spans may overlap, and are not empty.

        The text is normalised (see `discreet.redaction.normalise`) and has NUL where nothing may be found. Must be
        linear in its length for every input: bounded quantifiers, and ASCII lookarounds instead of word boundaries,
        which don't exist between a Latin letter and a Han or Cyrillic one.
        """
        ...


@runtime_checkable
class Carrying(Protocol):
    """A recogniser for which something far away counts, such as the heading of a table."""

    def carried(self, text: str) -> str:
        """Return what of `text` has to stand in front of what comes after it, for that to be read rightly."""
        ...


@runtime_checkable
class Opening(Protocol):
    """A recogniser of one's own that tells what of an unfinished text it waits for, so that the rest need not be held."""

    def open_from(self, text: str) -> int:
        """Return where in `text` begins what may be part of a value once more is written; its length if nothing may.

        That the last word is open need not be told.
        """
        ...


class PatternRecogniser:
    """Yields what `PATTERNS` match and `validate` accepts: the group `value` of a match, else all of it."""

    type: ClassVar[str]
    PATTERNS: ClassVar[tuple[re.Pattern[str], ...]]
    HINTS: ClassVar[tuple[str, ...]] = ("",)
    """Small-letter words, one of which is in every text that matches; looking for them is ten times faster."""

    def validate(self, match: re.Match[str]) -> bool:
        """Tell whether a match is what it looks like."""
        return True

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all valid matches."""
        text, lowered = view.text, view.lowered
        if not any(hint in lowered for hint in self.HINTS):
            return
        for pattern in self.PATTERNS:
            group = "value" if "value" in pattern.groupindex else 0
            for match in pattern.finditer(text):
                if self.validate(match):
                    yield match.span(group)
