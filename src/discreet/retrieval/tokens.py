"""Cut a text into the tokens that word search compares, for English, Russian, Vietnamese, Chinese and their mixtures.

Language goes by script, word by word, so that a question and a memory meet whatever else stands in them:

* Latin words of ASCII letters are stemmed by English Snowball, Cyrillic words by Russian Snowball.
* Scripts without spaces (Han, kana, Thai, …) and Hangul give single characters and pairs of neighbours.
* Vietnamese writes a space between syllables: a text with its diacritics also gives pairs of syllables, and each syllable without
  its marks, since many type none. Of 40 short questions 38 instead of 29 had their answer among the first five.

Segmenters were measured and left out: jieba needs 1.4 s to start, pyvi 6.6 s, and pairs reach the same recall.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.retrieval.stopwords import STOP_WORDS
from discreet.state.text import VIETNAMESE, without_marks

if TYPE_CHECKING:
    from Stemmer import Stemmer

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"  # kana, Han, Hangul
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff"
"""Combining marks, which `\\w` leaves out: they belong to the letter before them."""

_RUNS = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>(?:(?![{_UNSPACED}_])[\w{_MARKS}])+(?:'[^\W_]+)?)")
_ASCII_RUNS = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)?")
"""What `_RUNS` finds in an ASCII text. Most texts are such, and are cut in a third of the time."""
_VIETNAMESE = re.compile(f"[{VIETNAMESE}]")
"""Letters that no other common language of the Latin script uses."""

_PLAIN = str.maketrans(
    {
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{CYRILLIC SMALL LETTER IO}": "\N{CYRILLIC SMALL LETTER IE}",  # the dots are left out in most Russian texts
    }
)

MAX_TOKEN_CHARS = 40
"""Longer runs (hashes, URLs without separators) are cut: what makes them equal is at their start."""


def tokens(text: str) -> list[str]:
    """Return the tokens of `text` in their order, repeated as often as they occur. Stop words are left out."""
    if text.isascii():
        words = (run[:MAX_TOKEN_CHARS] for run in _ASCII_RUNS.findall(text.lower()))
        return [stem(word) for word in words if word not in STOP_WORDS]
    text = unicodedata.normalize("NFKC", text).casefold().translate(_PLAIN)
    pair_words = _VIETNAMESE.search(text) is not None
    found: list[str] = []
    before: str | None = None
    for run in _RUNS.finditer(text):
        if run.lastgroup == "unspaced":
            found.extend(_characters_and_pairs(run[0]))
            before = None
            continue
        word = run[0][:MAX_TOKEN_CHARS]
        if word not in STOP_WORDS:
            found.append(stem(word))
        if pair_words:
            if not word.isascii() and (plain := without_marks(word)) not in STOP_WORDS:
                found.append(stem(plain))
            if before is not None:
                found.append(f"{before} {word}")
            before = word
    return found


def _characters_and_pairs(run: str) -> Iterator[str]:
    for character in run:
        if character not in STOP_WORDS:
            yield character
    for first, second in pairwise(run):
        if first not in STOP_WORDS or second not in STOP_WORDS:
            yield first + second


_STEMMING = threading.Lock()
"""A stemmer has the word that it is at in itself, and threads share it."""


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the stem of `word`."""
    stemmed = word
    with _STEMMING:
        if word.isascii():
            stemmed = _stemmer("english").stemWord(word)
        elif "а" <= word[0] <= "я":  # the Cyrillic alphabet is meant
            stemmed = _stemmer("russian").stemWord(word)
    return stemmed


@cache
def _stemmer(language: str) -> Stemmer:
    from Stemmer import Stemmer as Snowball  # importing this module must stay cheap

    return Snowball(language)
