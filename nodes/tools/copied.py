"""Tell what a tool returned from what the user said, by words: only the second may become a memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from discreet.retrieval.tokens import tokens

COPIED_WORDS = 4
"""A run of this many words that stands in a tool's result and not in what the user said counts as copied; shorter runs
("in New York City") occur by chance."""

COPIED_SHARE = 0.5
"""So much of what a text says, in any order, must come from one result for it to count as copied."""

_NUMBER_WEIGHT = 2
"""What a number counts among words: nobody says 4711 by chance. A year may be known without a tool."""

_WORD = re.compile(r"[一-鿿぀-ヿ]|[^\W_]+")

_YEAR = re.compile(r"(?:19|20)\d\d")


def copied_from(text: str, results: Sequence[str], *, said: Iterable[str]) -> bool:
    """Whether `text` repeats words of one of `results` that the user has not `said`: a run of them, or most of its words.

    Words are compared without case and punctuation, Chinese by character. A text shorter than `COPIED_WORDS` counts as
    copied if all of it stands in a result. In any order it takes at least two words, by their stems and without those that
    say nothing, or a number, which make up `COPIED_SHARE` of the text.

    >>> copied_from("shipped: order 4711", ["Order 4711 shipped today"], said=["Where is my order?"])
    True
    >>> copied_from("User's order is 4711", ["Order 4711 shipped today"], said=["Where is my order 4711?"])
    False
    """
    if not results:
        return False
    spoken = list(said)
    return _in_a_run(text, results, spoken) or _in_any_order(text, results, spoken)


def _in_a_run(text: str, results: Iterable[str], said: Iterable[str]) -> bool:
    words = _words(text)
    if not words:
        return False
    spoken = [f" {' '.join(_words(each))} " for each in said]
    length = min(COPIED_WORDS, len(words))
    runs = {f" {' '.join(words[i : i + length])} " for i in range(len(words) - length + 1)}
    unsaid = [run for run in runs if not any(run in each for each in spoken)]
    return any(run in f" {' '.join(_words(result))} " for result in results for run in unsaid)


def _in_any_order(text: str, results: Iterable[str], said: Iterable[str]) -> bool:
    content = _content(text)
    unsaid = content.difference(*map(tokens, said))
    enough = max(_NUMBER_WEIGHT, COPIED_SHARE * _weight(content))
    return _weight(unsaid) >= enough and any(_weight(unsaid.intersection(tokens(each))) >= enough for each in results)


def _content(text: str) -> set[str]:
    """Return the words that say something: no pairs of syllables, which tell an order, and no single Han characters."""
    return {token for token in tokens(text) if " " not in token and (len(token) > 1 or token.isascii())}


def _weight(words: Iterable[str]) -> int:
    return sum(_NUMBER_WEIGHT if any(map(str.isdigit, word)) and not _YEAR.fullmatch(word) else 1 for word in words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
