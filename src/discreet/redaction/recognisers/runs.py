"""Long unbroken runs, which keys and tokens are made of and chat is not."""

from __future__ import annotations

import re

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.word_set import small

LEAST = 16
"""No key or token that is told apart by its own form is shorter."""

RUN = re.compile(rf"[A-Za-z0-9_+/=.~%:$|-]{{{LEAST},}}+")


def long_runs(text: str) -> tuple[Span, ...]:
    """Return where `text` has at least `LEAST` characters of those that tokens are written in, without a space."""
    if len(max(text.split(), key=len, default="")) < LEAST:
        return ()
    return tuple(match.span() for match in RUN.finditer(text))


class Hints:
    """Words in small letters, one of which is in every text worth a closer look."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self._ascii = tuple(word for word in words if word.isascii())
        self._all = (*self._ascii, *(word for word in words if not word.isascii()))

    def found_in(self, view: View) -> bool:
        """Tell whether one of the words is there; ASCII text is searched for ASCII words only."""
        lowered = view.lowered
        for word in self._ascii if lowered.isascii() else self._all:  # noqa: SIM110  # half as slow as any()
            if word in lowered:
                return True
        return False

    def places(self, text: str) -> list[int]:
        """Return where the words begin, in order: ten times faster than one pattern of all of them."""
        text = small(text)
        places: set[int] = set()
        for word in self._ascii if text.isascii() else self._all:
            if word in text:
                place = text.find(word)
                while place >= 0:
                    places.add(place)
                    place = text.find(word, place + 1)
        return sorted(places)
