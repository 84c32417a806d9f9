"""Where words of the languages stand in a text: hundreds of them are looked for in one look."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.view import View
from discreet.redaction.word_set import WORD, small, word_set
from discreet.redaction.words import languages, whole, words

EDGE = 4
"""Letters of a word by which those that only begin or end with a listed one are found."""
WITHOUT_SPACES = re.compile("[\u0530-\u1dff\u2e80-\uffff]")
UNSPACED = "\u0530"
"""Scripts from here on write words without spaces between them, or with particles glued to them, but for Latin ones with marks."""


def pairs_without_spaces(text: str) -> frozenset[tuple[str, str]]:
    """Return each two letters that stand side by side, if some are of scripts without spaces; for `View.derived`."""
    if text.isascii() or not WITHOUT_SPACES.search(text):
        return frozenset()
    return frozenset(zip(text, text[1:] + "\n", strict=True))


def edges(text: str) -> frozenset[str]:
    """Return the first and the last letters of all words, as many as `EDGE`; for `View.derived`."""
    found = word_set(text)
    long = [word for word in found if len(word) >= EDGE]
    return frozenset([word[:EDGE] for word in long] + [word[-EDGE:] for word in long])


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
        self._pairs = frozenset((entry[0], entry[1]) for entry in unspaced if len(entry) > 1)
        self._singles = frozenset(entry for entry in unspaced if len(entry) == 1)

    def places(self, view: View) -> list[int]:
        """Return where in the text, in order, one of the words may begin."""
        return view.once(self, lambda: self._places(view))

    def _places(self, view: View) -> list[int]:
        text = view.derived(small)
        wanted = [*(view.derived(word_set) & self._heads), *(part for part in self._parts if part in text)]
        for key in view.derived(edges) & self._stems.keys() if self._stems else ():
            wanted += self._stems[key]
        if pairs := self._pairs and view.derived(pairs_without_spaces):
            wanted += map("".join, pairs & self._pairs)
            wanted += self._singles.intersection(text) if self._singles else ()
        places: set[int] = set()
        for word in wanted:
            place = text.find(word)
            while place >= 0:
                places.add(place)
                place = text.find(word, place + 1)
        return sorted(places)


def is_unspaced(letter: str) -> bool:
    """Tell whether a letter is of a script that writes words without spaces between them, or with particles glued to them."""
    return letter >= UNSPACED and not "\u1e00" <= letter <= "\u2e7f"


class Place(NamedTuple):
    """Where a word stands in a text."""

    start: int
    end: int


class WordIndex:
    """Finds the words of several kinds in one look. A word may be of several, and stand within a longer one."""

    def __init__(self, kinds: Mapping[str, Sequence[str]]) -> None:
        """`kinds` has the words of each kind, as they are in a file of words."""
        self._names = Names(dict.fromkeys(word for entries in kinds.values() for word in entries))
        glued: dict[str, dict[str, None]] = {}
        spaced: dict[str, list[str]] = {}
        for kind, entries in kinds.items():
            for word in entries:
                if not is_unspaced(word.lstrip("*")[0]):
                    spaced.setdefault(kind, []).append(word)
                    continue
                for form in {word.strip("*"), word.strip("*").replace(" ", "")}:
                    glued.setdefault(form, {})[kind] = None
        self._glued: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for form in sorted(glued, key=len, reverse=True):
            self._glued.setdefault(form[:2], []).append((form, tuple(glued[form])))
        self._pattern = re.compile(whole(dict.fromkeys(word for entries in spaced.values() for word in entries)))
        self._patterns = {kind: lazy(whole(entries)) for kind, entries in spaced.items()}
        self._kinds_of = lru_cache(4096)(self._kinds)

    def found(self, view: View) -> Mapping[str, list[Place]]:
        """Return where the words of each kind stand, in order; nothing for kinds that have none there."""
        return view.once(self, lambda: self._found(view))

    def _found(self, view: View) -> Mapping[str, list[Place]]:
        text = view.derived(small)
        found: dict[str, list[Place]] = {}
        for place in self._names.places(view):
            if is_unspaced(text[place]):
                kinds = self._glued_at(text, place)
            elif match := self._pattern.match(text, place):
                kinds = self._kinds_of(match[0])
            else:
                continue
            for kind, size in kinds:
                found.setdefault(kind, []).append(Place(place, place + size))
        return found

    def _glued_at(self, text: str, place: int) -> Iterable[tuple[str, int]]:
        sizes: dict[str, int] = {}
        for form, kinds in (*self._glued.get(text[place : place + 2], ()), *self._glued.get(text[place], ())):
            if text.startswith(form, place):
                for kind in kinds:
                    sizes.setdefault(kind, len(form))
        return sizes.items()

    def _kinds(self, word: str) -> tuple[tuple[str, int], ...]:
        found = ((kind, pattern.match(word)) for kind, pattern in self._patterns.items())
        return tuple((kind, match.end()) for kind, match in found if match)


TABLES = ("secret", "code", "answer", "address", "identity")


@cache
def index() -> WordIndex:
    """Return what finds the words that recognisers ask for in every text: `secret.password`, `address.street`."""
    return WordIndex(
        {
            f"{table}.{name}": words(table, name)
            for table in TABLES
            for name in dict.fromkeys(name for language in languages() for name in language.tables[table])
            if name != "common"
        }
    )


class Kinds:
    """Words of one kind or of several, by the names of their lists."""

    def __init__(self, table: str, *names: str) -> None:
        self._kinds = tuple(f"{table}.{name}" for name in names)

    def __or__(self, other: Kinds) -> Kinds:
        both = Kinds("")
        both._kinds = (*self._kinds, *other._kinds)
        return both

    def found(self, view: View) -> list[Place]:
        """Return where such words stand in a text, in order."""
        found = index().found(view)
        lists = [found[kind] for kind in self._kinds if kind in found]
        return lists[0] if len(lists) == 1 else sorted(chain(*lists))

    def places(self, view: View) -> list[int]:
        """Return where such words begin, in order."""
        return view.once(self, lambda: list(dict.fromkeys(place.start for place in self.found(view))))
