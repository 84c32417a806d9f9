"""Where words for secrets stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from discreet.redaction.view import View
from discreet.redaction.word_set import WORD, small, word_set
from discreet.redaction.words import any_of, words

UNSPACED = "\u0530"
"""Scripts from here on write words without spaces between them, or with particles glued to them, but for Latin ones with marks."""


class Names:
    """Finds where any of hundreds of words may begin, by looking at each word of a text once."""

    def __init__(self, entries: Iterable[str], parts: Iterable[str] = ()) -> None:
        """`entries` are as in a file of words; `parts` are looked for within words, too."""
        heads, unspaced, parts = set(), [], list(parts)
        for entry in entries:
            first = entry.lstrip("*")[0]
            if first >= UNSPACED and not "\u1e00" <= first <= "\u1eff":
                unspaced.append(entry.partition("*")[0])
                continue
            found = WORD.match(entry.lstrip("*"))
            head = found[0] if found else ""
            if not head or entry.startswith("*") or entry.lstrip("*")[len(head) :].startswith("*"):
                parts.append(entry.strip("*"))
            else:
                heads.add(head)
        self._heads = frozenset(heads)
        self._parts = tuple(dict.fromkeys(parts))
        self._unspaced = re.compile(any_of(unspaced)) if unspaced else None

    def places(self, view: View) -> list[int]:
        """Return where in the text, in order, one of the words may begin."""
        return view.once(self, lambda: self._places(view))

    def _places(self, view: View) -> list[int]:
        text = view.derived(small)
        places: set[int] = set()
        wanted = [*(view.derived(word_set) & self._heads), *(part for part in self._parts if part in text)]
        for word in wanted:
            place = text.find(word)
            while place >= 0:
                places.add(place)
                place = text.find(word, place + 1)
        if self._unspaced and not text.isascii():
            places.update(match.start() for match in self._unspaced.finditer(text))
        return sorted(places)


@cache
def secrets() -> Names:
    """Return the words for passwords, keys and accounts."""
    return Names(words("secret", "password", "weak", "key", "login"))


@cache
def codes() -> Names:
    """Return the words for codes that let somebody in."""
    return Names(words("code", "once", "pin", "card", "plain"))
