"""Say in a few of its own words what a text is about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.providers.offline.reading import told
from discreet.retrieval.stopwords import STOP_WORDS

WORDS = 8
"""Words of a topic, Vietnamese syllables; of Chinese, runs between the words that say nothing."""

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_FUNCTION_HAN = "".join(word for word in STOP_WORDS if re.fullmatch(f"[{_HAN}]", word))
_WORD = re.compile(rf"[{_HAN}]+|(?:(?![{_HAN}_])[^\W\d])+(?:['’-][^\W\d_]+)*")
_RUN = re.compile(rf"[^{_FUNCTION_HAN}]{{2,8}}")


def topic_of(text: str) -> str:
    """Return the first words of the first sentence in `text` that has words of its own; empty if none has.

    Greetings, numbers, and what is to be forgotten are passed over.

    Example:
        >>> topic_of("Hi there! I would like to book a table for two.")
        'like book table two'
    """
    found = (list(_words(sentence))[:WORDS] for sentence in told(text))
    return " ".join(next(filter(None, found), ()))


def _words(sentence: str) -> Iterator[str]:
    for match in _WORD.finditer(sentence):
        word = match[0]
        if re.match(f"[{_HAN}]", word):
            yield from _RUN.findall(word)
        elif len(word) > 1 and word.casefold().replace("’", "'") not in STOP_WORDS:
            yield word
