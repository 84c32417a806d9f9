"""A text as recognisers see it, and where each of its characters came from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeVar

BLANK = "\0"
"""Stands in for characters that no recogniser may see. Storable text has no NUL, so it can't be mistaken."""

Span = tuple[int, int]
"""Start and end of a value in a text."""

Derived = TypeVar("Derived")


class View:
    """Normalised text with a map back to the text it was made from.

    Recognisers return spans of `text`; `source` turns them into spans of the original.
    """

    def __init__(
        self, text: str, *, starts: list[int] | None = None, ends: list[int] | None = None, edits: tuple[Span, ...] = ()
    ) -> None:
        """`starts` and `ends` have, for each character, where its original begins and ends; None where it is itself."""
        self.text = text
        self.edits = edits
        """Spans of the original that were replaced, in the order of the replacements."""
        self._starts = starts
        self._ends = ends
        self._derived: dict[object, object] = {}

    @cached_property
    def lowered(self) -> str:
        """The text in small letters, for looking for words. Not always equally long."""
        return self.text.lower()

    def derived(self, derive: Callable[[str], Derived]) -> Derived:
        """Return `derive(text)`, worked out once for all recognisers that ask."""
        return self.once(derive, lambda: derive(self.text))

    def once(self, key: object, make: Callable[[], Derived]) -> Derived:
        """Return what `make` returned the first time that somebody asked under this key."""
        if key not in self._derived:
            self._derived[key] = make()
        result: Derived = self._derived[key]  # type: ignore[assignment]  # the key tells its type
        return result

    def source(self, start: int, end: int) -> Span:
        """Return the span of the original that a span of the view, of at least one character, was made from."""
        if self._starts is None or self._ends is None:
            return start, end
        return self._starts[start], self._ends[end - 1]

    def read_as(self, text: str) -> View:
        """Return a view of an equally long text in which each character reads as that of the same place here."""
        return View(text, starts=self._starts, ends=self._ends, edits=self.edits)

    def translated(self, table: dict[int, str]) -> View:
        """Return a view with characters replaced one by one, each by exactly one."""
        return self.read_as(self.text.translate(table))

    def replaced(self, pattern: re.Pattern[str], by: Callable[[re.Match[str]], str]) -> View:
        """Return a view with the matches of `pattern`, none of them empty, replaced by text of any length.

        A match is one character as far as places go: all that replaces it stems from all of it.
        """
        edits = ((*match.span(), by(match)) for match in pattern.finditer(self.text))
        return self.spliced(edit for edit in edits if self.text[edit[0] : edit[1]] != edit[2])

    def spliced(self, edits: Iterable[tuple[int, int, str]]) -> View:
        """Return a view with text of any length in place of spans, which are in order, not empty and apart."""
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        replaced = list(self.edits)
        for first, last, new in edits:
            start, end = self.source(first, last)
            replaced.append((start, end))
            parts += self.text[done:first], new
            self._copy_places(done, first, starts, ends)
            starts += [start] * len(new)
            ends += [end] * len(new)
            done = last
        if not done:
            return self
        parts.append(self.text[done:])
        self._copy_places(done, len(self.text), starts, ends)
        return View("".join(parts), starts=starts, ends=ends, edits=tuple(replaced))

    def part(self, first: int, last: int) -> View:
        """Return the view of a part of the text."""
        starts: list[int] = []
        ends: list[int] = []
        self._copy_places(first, last, starts, ends)
        return View(self.text[first:last], starts=starts, ends=ends)

    def parts_around(self, edits: Iterable[Span], reach: int) -> list[Span]:
        """Return the spans of the view that lie at most `reach` characters from spans of the original, in order and apart."""
        parts: list[Span] = []
        starts = self._starts or range(len(self.text))
        for start, end in sorted(edits):
            first = max(0, bisect_left(starts, start) - reach)
            last = min(len(self.text), bisect_left(starts, end) + reach)
            if parts and first <= parts[-1][1]:
                first, last = parts[-1][0], max(last, parts.pop()[1])
            parts.append((first, last))
        return parts

    def _copy_places(self, first: int, last: int, starts: list[int], ends: list[int]) -> None:
        starts += range(first, last) if self._starts is None else self._starts[first:last]
        ends += range(first + 1, last + 1) if self._ends is None else self._ends[first:last]
