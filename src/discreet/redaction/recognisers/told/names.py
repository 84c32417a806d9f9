"""Where words for secrets stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from discreet.redaction.view import View
from discreet.redaction.word_set import WORD, small, word_set
from discreet.redaction.words import any_of, words

EDGE = 4
"""Letters of a word by which those that only begin or end with a listed one are found."""
UNSPACED = "\u0530"
"""Scripts from here on write words without spaces between them, or with particles glued to them, but for Latin ones with marks."""


def letters_without_spaces(text: str) -> frozenset[str]:
    """Return the letters of scripts without spaces in a text; for `View.derived`."""
    return frozenset() if text.isascii() else frozenset(filter(UNSPACED.__le__, text))


def edges(text: str) -> frozenset[str]:
    """Return the first and the last letters of all words, as many as `EDGE`; for `View.derived`."""
    found = word_set(text)
    return frozenset(word[:EDGE] for word in found) | frozenset(word[-EDGE:] for word in found)


class Names:
    """Finds where any of hundreds of words may begin, by looking at each word of a text once."""

    def __init__(self, entries: Iterable[str], parts: Iterable[str] = ()) -> None:
        """`entries` are as in a file of words; `parts` are looked for within words, too."""
        heads: set[str] = set()
        unspaced: list[str] = []
        inner = list(parts)
        self._stems: dict[str, list[str]] = {}
        for entry in entries:
            bare = entry.strip("*")
            if is_unspaced(bare[0]):
                unspaced.append(entry.partition("*")[0])
                continue
            found = WORD.match(bare)
            head = found[0] if found else ""
            cut = entry.lstrip("*")[len(head) :].startswith("*")
            if not head or ((cut or entry.startswith("*")) and len(head) < EDGE):
                inner.append(bare)
            elif cut:
                self._stems.setdefault(head[:EDGE], []).append(head)
            elif entry.startswith("*"):
                self._stems.setdefault(head[-EDGE:], []).append(bare)
            else:
                heads.add(head)
        self._heads = frozenset(heads)
        self._parts = tuple(dict.fromkeys(inner))
        self._unspaced = re.compile(any_of(unspaced)) if unspaced else None
        self._firsts = frozenset(entry[0] for entry in unspaced)

    def places(self, view: View) -> list[int]:
        """Return where in the text, in order, one of the words may begin."""
        return view.once(self, lambda: self._places(view))

    def _places(self, view: View) -> list[int]:
        text = view.derived(small)
        wanted = [*(view.derived(word_set) & self._heads), *(part for part in self._parts if part in text)]
        for key in view.derived(edges) & self._stems.keys() if self._stems else ():
            wanted += self._stems[key]
        places: set[int] = set()
        for word in wanted:
            place = text.find(word)
            while place >= 0:
                places.add(place)
                place = text.find(word, place + 1)
        if self._unspaced and not self._firsts.isdisjoint(view.derived(letters_without_spaces)):
            places.update(match.start() for match in self._unspaced.finditer(text))
        return sorted(places)


def is_unspaced(letter: str) -> bool:
    """Tell whether a letter is of a script that writes words without spaces between them, or with particles glued to them."""
    return letter >= UNSPACED and not "\u1e00" <= letter <= "\u1eff"


@cache
def secrets() -> Names:
    """Return the words for passwords, keys and accounts."""
    return Names(words("secret", "password", "weak", "key", "login"))


@cache
def codes() -> Names:
    """Return the words for codes that let somebody in."""
    return Names(words("code", "once", "pin", "card", "plain"))
