"""Look at places of a text, at those that look alike only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Seen = TypeVar("Seen")


class Windows(Generic[Seen]):
    """Remembers what was seen at a place by the characters around it.

    Whoever repeats a word ten thousand times has it looked at as often as its surroundings differ. Keep one only as long
    as its text: it holds parts of it.
    """

    def __init__(self, text: str, look: Callable[[str, int], Seen], *, before: int, behind: int) -> None:
        """`look` depends on `before` and `behind` characters around the place, and returns what holds wherever they stand."""
        self._text = text
        self._look = look
        self._before = before
        self._behind = behind
        self._seen: dict[str, Seen] = {}

    def at(self, place: int) -> Seen:
        """Return what `look` sees at `place`."""
        if place < self._before:
            return self._look(self._text, place)
        window = self._text[place - self._before : place + self._behind]
        if window not in self._seen:
            self._seen[window] = self._look(self._text, place)
        return self._seen[window]
