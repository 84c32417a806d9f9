"""Shorten what was spoken without a model: the sentences that say most, without the filler."""

from __future__ import annotations

import re
import textwrap
from collections import Counter

from discreet.state.sentences import sentences

MAX_SENTENCES = 3
MAX_SUMMARY_CHARS = 600
"""Three sentences of 200 characters each, which is long for any of the four languages."""

SPOKEN_CHARS = 80
SPOKEN_HAN_CHARS = 30
"""A spoken sentence, some 15 words. Speech recognition often sets no full stops: what is longer than twice that is cut."""

_BREAK = re.compile(r"[\r\n]+")
_HAN = re.compile(r"[一-鿿぀-ヿ]")
_WORD = re.compile(r"[一-鿿぀-ヿ]{2}|[^\W\d_]{3,}")

_FILLER = re.compile(
    r"""
    (?<!\w)
    (?: u+h+m* | u+m+ | e+rm* | h+m+ | a+h+ | o+h+
      | ờ+ | ừ+m* | ưm+ | э+(?:-э+)*м* | м+(?:-м+)+ | ну | вот
      | (?: you\ know | i\ mean | kiểu\ như | ý\ là | как\ бы | короче | так\ сказать )(?=,) )
    (?![\w-]) [,.…]* \s*
    | [嗯呃]+ [，,、。…]*
    | (?:那个|这个|就是说) [，,、]+
    """,  # noqa: RUF001  # full-width: Chinese
    re.IGNORECASE | re.VERBOSE,
)
"""Sounds, and phrases where a comma shows that they are set apart: without one they may mean something."""


def first_sentences(text: str) -> str:
    """Return the first three sentences of `text` on one line, cut at 600 characters."""
    return " ".join(sentences(" ".join(text.split()))[:MAX_SENTENCES])[:MAX_SUMMARY_CHARS].strip()


def extract(transcript: str) -> str:
    """Return the one to three sentences of `transcript` that say most, in their order and without filler.

    The weight of a sentence is how often its words stand in the whole (after Luhn, "The Automatic Creation of Literature
    Abstracts", 1958); where none is repeated, the first three stay. Of more than three sentences at least one is
    left out. These are the speaker's own words, no summary: a transcript of up to three sentences can remain as it is but
    for its filler, and only a model can do better.
    """
    spoken = [sentence for sentence in _sentences(transcript) if _SOMETHING.search(sentence)]
    if not spoken:
        return first_sentences(transcript)
    words = [set(_WORD.findall(sentence.casefold())) for sentence in spoken]
    said = Counter(word for each in words for word in each)
    weights = [sum(said[word] for word in each if said[word] > 1) for each in words]
    heaviest = sorted(range(len(spoken)), key=lambda at: (-weights[at], at))[:MAX_SENTENCES]
    return " ".join(spoken[at] for at in sorted(heaviest))[:MAX_SUMMARY_CHARS].strip()


_SOMETHING = re.compile(r"\w")


def _sentences(transcript: str) -> list[str]:
    """Return what was said as sentences without filler; what has no full stops, in pieces of that length."""
    found: list[str] = []
    for line in _BREAK.split(transcript):
        for sentence in sentences(" ".join(line.split())):
            said = _FILLER.sub("", sentence).strip(" ,，、")  # noqa: RUF001  # full-width: Chinese
            size = SPOKEN_HAN_CHARS if len(_HAN.findall(said)) * 2 > len(said) else SPOKEN_CHARS
            found += textwrap.wrap(said, size) if len(said) > 2 * size else [said]
    return found
