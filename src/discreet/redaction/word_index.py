"""Where words of the languages stand in a text: hundreds of them are looked for in one look."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

from discreet.redaction.normalized_text import View
from discreet.redaction.word_set import WORD, small, word_places, word_set
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
        self._heads: set[str] = set()
        self._parts: dict[str, None] = dict.fromkeys(parts)
        self._stems: dict[str, list[str]] = {}
        pairs: list[str] = []
        for entry in entries:
            kind, needle = needle_of(entry)
            if kind == "pair":
                pairs.append(needle)
            elif kind == "part":
                self._parts[needle] = None
            elif kind == "head":
                self._heads.add(needle)
            else:
                key = needle[-EDGE:] if kind == "end" else needle[:EDGE]
                self._stems.setdefault(key, []).append(needle)
        self._pairs = frozenset((needle[0], needle[1]) for needle in pairs if len(needle) > 1)
        self._singles = frozenset(needle for needle in pairs if len(needle) == 1)

    def places(self, view: View) -> list[int]:
        """Return where in the text, in order, one of the words may begin."""
        return view.once(self, lambda: sorted({place for _, place in self.hits(view)}))

    def hits(self, view: View) -> Iterator[tuple[str, int]]:
        """Yield what a word begins with, or has within it, and where in the text that stands."""
        text = view.derived(small)
        if heads := view.derived(word_set) & self._heads:
            places = view.derived(word_places)
            for head in heads:
                for place in places[head]:
                    yield head, place
        wanted = [part for part in self._parts if part in text]
        for key in view.derived(edges) & self._stems.keys() if self._stems else ():
            wanted += self._stems[key]
        if pairs := self._pairs and view.derived(pairs_without_spaces):
            wanted += map("".join, pairs & self._pairs)
            wanted += self._singles.intersection(text) if self._singles else ()
        for needle in wanted:
            place = text.find(needle)
            while place >= 0:
                yield needle, place
                place = text.find(needle, place + 1)


def needle_of(entry: str) -> tuple[str, str]:
    """Return how a word of a file is looked for, and what of it: a `head` that is a whole word, a `part`, and so on."""
    bare = entry.strip("*")
    if is_unspaced(bare[0]):
        return "pair", entry.strip("*").partition("*")[0][:2]
    found = WORD.match(bare)
    head = found[0] if found else ""
    cut = entry.lstrip("*")[len(head) :].startswith("*")
    if not head or ((cut or entry.startswith("*")) and len(head) < EDGE):
        return "part", bare
    if cut:
        return "beginning", head
    return ("end", bare) if entry.startswith("*") else ("head", head)


def is_unspaced(letter: str) -> bool:
    """Tell whether a letter is of a script that writes words without spaces between them, or with particles glued to them."""
    return letter >= UNSPACED and not "\u1e00" <= letter <= "\u2e7f"


class Place(NamedTuple):
    """Where a word stands in a text."""

    start: int
    end: int


class Entry:
    """A word of one kind or of several."""

    __slots__ = ("_pattern", "_plain", "_word", "kinds")

    def __init__(self, word: str, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds
        self._word = word
        self._plain = word.isalpha()
        self._pattern: re.Pattern[str] | None = None

    def end(self, text: str, place: int) -> int | None:
        """Return where the word ends that begins at a place, if it stands there as a whole."""
        if not self._plain:
            self._pattern = self._pattern or re.compile(whole((self._word,)))
            match = self._pattern.match(text, place)
            return match.end() if match else None
        end = place + len(self._word)
        beside = text[place - 1 : place] + text[end : end + 1]
        return None if any(self._goes_on(char) for char in beside) else end

    def _goes_on(self, char: str) -> bool:
        if "\u0400" <= self._word[0] <= "\u04ff":
            return "\u0400" <= char <= "\u04ff"
        return "a" <= char <= "z" or "\u00c0" <= char <= "\u024f" or "\u1e00" <= char <= "\u1eff"


class Glued:
    """The same of a script without spaces, where anything may stand beside it."""

    __slots__ = ("_form", "kinds")

    def __init__(self, form: str, kinds: tuple[str, ...]) -> None:
        self._form = form
        self.kinds = kinds

    def end(self, text: str, place: int) -> int | None:
        """Return where the word ends that begins at a place."""
        return place + len(self._form) if text.startswith(self._form, place) else None


class WordIndex:
    """Finds the words of several kinds in one look. A word may be of several, and stand within a longer one."""

    def __init__(self, kinds: Mapping[str, Sequence[str]]) -> None:
        """`kinds` has the words of each kind, as they are in a file of words."""
        of_word: dict[str, list[str]] = {}
        for kind, entries in kinds.items():
            for word in entries:
                of_word.setdefault(word, []).append(kind)
        self._names = Names(of_word)
        self._entries: dict[str, list[Entry | Glued]] = {}
        for word, found in of_word.items():
            sort, needle = needle_of(word)
            known = self._entries.setdefault(needle, [])
            if sort == "pair":
                bare = word.strip("*")
                known += [Glued(form, tuple(found)) for form in dict.fromkeys((bare, bare.replace(" ", "")))]
            else:
                known.append(Entry(word, tuple(found)))

    def found(self, view: View) -> Mapping[str, list[Place]]:
        """Return where the words of each kind stand, in order, the longest of those that begin at one place."""
        return view.once(self, lambda: self._found(view))

    def _found(self, view: View) -> Mapping[str, list[Place]]:
        text = view.derived(small)
        ends: dict[str, dict[int, int]] = {}
        for needle, place in self._names.hits(view):
            for entry in self._entries[needle]:
                if end := entry.end(text, place):
                    for kind in entry.kinds:
                        known = ends.setdefault(kind, {})
                        known[place] = max(end, known.get(place, end))
        return {kind: [Place(*each) for each in sorted(known.items())] for kind, known in ends.items()}


TABLES = ("secret", "code", "answer", "address", "identity")


@cache
def index() -> WordIndex:
    """Return what finds the words that recognisers ask for in every text: `secret.password`, `address.street`."""
    return WordIndex(
        {
            f"{table}.{name}": words(table, name)
            for table in TABLES
            for name in dict.fromkeys(name for language in languages() for name in language.tables[table])
            if name not in ("common", "city", "meeting")
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
