"""Recovery phrases of wallets: twelve to twenty-four plain words (BIP 39)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.view import Span, View

LEAST_MEAN_CHARS = 4.6
"""The words of BIP 39 have 5.4 letters on average, those of Vietnamese without its marks 3.5."""


class SeedPhraseRecogniser:
    """Finds runs of twelve words or more that BIP 39 could have: three to eight small letters, none of the commonest words.

    After a word that says so nine words are enough, numbered or one a line.
    """

    type = "SECRET"

    RUN = re.compile(r"(?<![A-Za-z'’.,-])[a-z]{3,8}+(?:(?:[ ]{1,2}|,[ ]?)[a-z]{3,8}+(?![A-Za-z'’])){11,32}+")
    TOLD = re.compile(
        r"(?:seed|mnemonic|recovery|secret|backup|wallet)[ _-]?(?:phrase|words?|key)?|cụm từ (?:khôi phục|bí mật|hạt giống)|(?:сид|seed)-?фраз\w|мнемоник\w|фраз\w восстановления"
        r"|助記詞|助记词|恢復短語|恢复短语",
        re.IGNORECASE,
    )
    WORDS = re.compile(
        r"[^\n\0A-Za-z]{0,4}(?:[^A-Za-z\0.]{0,4}(?:is|are|là|это|是|words?)[^A-Za-z\0]{1,4})?(?P<value>(?:[0-9]{1,2}[.):] ?)?[a-z]{3,8}(?:[\s,]{1,3}(?:[0-9]{1,2}[.):] ?)?[a-z]{3,8}(?![A-Za-z])){8,32}+)"
    )
    COMMON = re.compile(
        r"(?<![a-z])(?:the|and|for|with|are|was|were|his|her|had|has|have|not|but|from|our|your|said|been|would|could|should|their|she|him|its|who|which|them|these"
        r"|those|because|really|some|did|does|being|where|while|also|into|how|why|too|may|might|got|get|going|want|know|make|made|day|time|good|great|people)(?![a-z])"
    )
    """Common English words that the list of BIP 39 leaves out, except four: prose has one of them in twelve words."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all phrases."""
        text, lowered = view.text, view.lowered
        for match in self.RUN.finditer(text) if _has_run(text) else ():
            words = re.findall("[a-z]+", match[0])
            if not self.COMMON.search(match[0]) and sum(map(len, words)) >= LEAST_MEAN_CHARS * len(words):
                yield match.span()
        if any(
            hint in lowered for hint in ("seed", "mnemonic", "phrase", "wallet", "cụm từ", "фраз", "мнемон", "助", "短")
        ):
            for name in self.TOLD.finditer(text):
                told = self.WORDS.match(text, name.end())
                if told and not self.COMMON.search(told["value"]):
                    yield told.span("value")


def _has_run(text: str) -> bool:
    """Tell whether twelve words of three to nine small letters may stand in a row: such a run has two of each six."""
    words = text.split()
    before = False
    for place in range(5, len(words), 6):
        good = _may_be_listed(words[place])
        if good and before and all(map(_may_be_listed, words[place - 5 : place])):
            return True
        before = good
    return False


def _may_be_listed(word: str) -> bool:
    return 3 <= len(word) <= 9 and word.islower()  # noqa: PLR2004 - BIP 39, and a comma
