"""Recovery phrases of wallets: twelve to twenty-four plain words (BIP 39)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.runs import Hints
from discreet.redaction.recognisers.windows import Windows

LEAST_MEAN_CHARS = 4.6
"""The words of BIP 39 have 5.4 letters on average, those of Vietnamese without its marks 3.5."""

LONGEST_PHRASE = 560
"""33 words of 8 letters with numbers and commas, and what leads to them."""

COMMON = frozenset(
    [
        *("also", "and", "are", "because", "been", "being", "but", "could", "day", "did", "does", "for", "from"),
        *("get", "going", "good", "got", "great", "had", "has", "have", "her", "him", "his", "how", "into", "its"),
        *("know", "made", "make", "may", "might", "not", "our", "people", "really", "said", "she", "should", "some"),
        *("the", "their", "them", "these", "those", "time", "too", "want", "was", "were", "where", "which", "while"),
        *("who", "why", "with", "would", "your"),
    ]
)
"""Common English words that the list of BIP 39 leaves out, except four: prose has one of them in twelve words."""


class SeedPhraseRecogniser:
    """Finds runs of twelve words or more that BIP 39 could have: three to eight small letters, none of the commonest words.

    After a word that says so nine words are enough, numbered or one a line.
    """

    type = "SECRET"

    RUN = lazy(r"(?<![A-Za-z'’.,-])[a-z]{3,8}+(?:(?:[ ]{1,2}|,[ ]?)[a-z]{3,8}+(?![A-Za-z'’])){11,32}+")
    TOLD = lazy(
        r"(?:seed|mnemonic|recovery|secret|backup|wallet)[ _-]?(?:phrase|words?|key)?|cụm từ (?:khôi phục|bí mật"
        r"|hạt giống)|(?:сид|seed)-?фраз\w|мнемоник\w|фраз\w восстановления"
        r"|助記詞|助记词|恢復短語|恢复短语",
        re.IGNORECASE,
    )
    WORDS = lazy(
        r"[^\n\0A-Za-z]{0,4}(?:[^A-Za-z\0.]{0,4}(?:is|are|là|это|是"
        r"|words?)[^A-Za-z\0]{1,4})?(?P<value>(?:[0-9]{1,2}[.):] ?)?[a-z]{3,8}(?:[\s,]{1,3}(?:[0-9]{1,2}[.):] ?)?[a-z]{3,8}(?![A-Za-z])){8,32}+)"
    )
    COMMON = lazy(rf"(?<![a-z])(?:{'|'.join(sorted(COMMON))})(?![a-z])")

    HINTS = Hints("seed", "mnemonic", "phrase", "wallet", "cụm từ", "фраз", "мнемон", "助", "短")

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all phrases."""
        text = view.text
        for match in self.RUN.finditer(text) if _has_run(text) else ():
            words = re.findall("[a-z]+", match[0])
            if not self.COMMON.search(match[0]) and sum(map(len, words)) >= LEAST_MEAN_CHARS * len(words):
                yield match.span()
        if self.HINTS.found_in(view):
            behind = Windows(text, self.told, before=0, behind=LONGEST_PHRASE)
            for name in self.TOLD.finditer(text):
                if told := behind.at(name.end()):
                    yield name.end() + told[0], name.end() + told[1]

    def told(self, text: str, place: int) -> Span | None:
        """Return the span of the phrase behind `place`, from there on, or None."""
        told = self.WORDS.match(text, place)
        if told is None or self.COMMON.search(told["value"]):
            return None
        return told.start("value") - place, told.end("value") - place


def _has_run(text: str) -> bool:
    """Tell whether a phrase may stand in `text`: two of each fifth word are listed, and all between.

    Of the twelve words of the shortest phrase (BIP 39), the first and the last may be glued to something, ten are whole.
    """
    words = text.split()
    fifths = [
        place
        for place in range(4, len(words), 5)
        if 2 < len(word := words[place]) < 10 and word not in COMMON and word.islower()
    ]
    return any(last - first == 5 and all(map(_may_be_listed, words[first:last])) for first, last in pairwise(fifths))


def _may_be_listed(word: str) -> bool:
    return 3 <= len(word) <= 9 and word.islower() and word.rstrip(",") not in COMMON  # BIP 39, and a comma
