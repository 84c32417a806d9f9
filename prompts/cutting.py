"""Make a text fit into a number of tokens."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from discreet.state.sentences import SENTENCE_END

Count = Callable[[str], int]
"""A `discreet.ports.TokenCounter`; that room lies above this one."""

ELLIPSIS = " … "

LEAST_TOKENS = 20
"""What is left of a text that was cut has to say something; below this the text is left out."""

_HALF_PLACEHOLDER_BEFORE = re.compile(r"<[A-Z][A-Z0-9_:]{0,60}$")
_HALF_PLACEHOLDER_AFTER = re.compile(r"[A-Z0-9_:]{0,60}>")
_HALF_WORD_BEFORE = re.compile(r"(?<=\s)\S{1,15}$")
_HALF_WORD_AFTER = re.compile(r"\S{1,15}(?=\s)")


def cut_at_sentence(text: str, limit: int, count: Count) -> str:
    """Return the first sentences of `text` that take at most `limit` tokens; empty if not even one does."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    kept = bisect_right(ends, limit, key=lambda end: count(text[:end]))
    return text[: ends[kept - 1]] if kept else ""


def cut_middle(text: str, limit: int, count: Count, *, render: Callable[[str], str] = str) -> str:
    """Return `text` rendered, with an ellipsis for its middle, in at most `limit` tokens; empty if that says too little.

    About log2(limit) texts are counted, none of them much longer than what is returned.
    """
    if limit < LEAST_TOKENS:
        return ""
    best, low, high = "", 0, min(limit, len(text))
    while low < high:
        candidate = render(_without_middle(text, high))
        if count(candidate) > limit:
            break
        best, low, high = candidate, high, min(2 * high, len(text))
    while high - low > 1:
        middle = (low + high) // 2
        candidate = render(_without_middle(text, middle))
        if count(candidate) > limit:
            high = middle
        else:
            best, low = candidate, middle
    return best


def _without_middle(text: str, kept: int) -> str:
    """Return about `kept` characters of both ends, without halves of words and of placeholders at the cut."""
    if kept >= len(text):
        return text
    head, tail = text[: (kept + 1) // 2], text[len(text) - kept // 2 :]
    head = _HALF_WORD_BEFORE.sub("", _HALF_PLACEHOLDER_BEFORE.sub("", head))
    half = _HALF_PLACEHOLDER_AFTER.match(tail) or _HALF_WORD_AFTER.match(tail)
    return f"{head.rstrip()}{ELLIPSIS}{tail[half.end() if half else 0 :].lstrip()}".strip()
