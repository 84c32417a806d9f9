"""Make a text fit into a number of tokens."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence

from discreet.prompts.counting import Count
from discreet.state.sentences import SENTENCE_END

ELLIPSIS = " … "

LEAST_TOKENS = 20
"""What is left of a text that was cut has to say something; below this the text is left out."""

AIM, NEAR = 0.97, 0.9
"""Of the limit: what a cut aims at, and what is good enough."""

ATTEMPTS = 10
"""The first half of them by proportion, the others by halving, for texts that are dense at one end."""

HALF_CHARS = 80
"""In which half a placeholder or word stands."""
_HALF_PLACEHOLDER_BEFORE = re.compile(r"<[A-Z][A-Z0-9_:]{0,60}$")
_HALF_PLACEHOLDER_AFTER = re.compile(r"[A-Z0-9_:]{0,60}>")
_HALF_WORD_BEFORE = re.compile(r"(?<=\s)\S{1,15}$")
_HALF_WORD_AFTER = re.compile(r"\S{1,15}(?=\s)")


def fair_shares(sizes: Sequence[int], limit: int) -> list[int]:
    """Return for each of `sizes` what it gets of `limit`: small ones all they need, and large ones equal parts of the rest.

    Example:
        >>> fair_shares([10, 500, 300], 210)
        [10, 100, 100]
    """
    shares = [0] * len(sizes)
    left = max(0, limit)
    for done, at in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[at] = min(sizes[at], left // (len(sizes) - done))
        left -= shares[at]
    return shares


def cut_at_sentence(text: str, limit: int, count: Count) -> str:
    """Return the first sentences of `text` that take at most `limit` tokens; empty if not even one does."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    kept = bisect_right(ends, limit, key=lambda end: count(text[:end]))
    return text[: ends[kept - 1]] if kept else ""


def cut_end(text: str, limit: int, count: Count) -> str:
    """Return as much of the beginning of `text` as takes at most `limit` tokens, without half a word or placeholder."""
    if count(text) <= limit:
        return text
    kept = bisect_right(range(1, len(text)), limit, key=lambda end: count(text[:end]))
    return _without_halves(text[:kept])


def cut_middle(
    text: str,
    limit: int,
    count: Count,
    *,
    render: Callable[[str], str] = str,
    mark: str = ELLIPSIS,
    tokens: int | None = None,
) -> str:
    """Return `text` rendered, with `mark` for its middle, in at most `limit` tokens; empty if that says too little.

    Where to cut is guessed from the `tokens` of the whole, an estimate too, so that few texts are counted.
    """
    if limit < LEAST_TOKENS:
        return ""
    best, low, least = "", 0, 0
    high, most = len(text), max(count(text) if tokens is None else tokens, limit + 1)
    for attempt in range(ATTEMPTS):
        guess = (AIM * limit - least) / (most - least) if attempt < ATTEMPTS // 2 else 1 / 2
        kept = low + int(max(0.0, guess) * (high - low))
        candidate = render(_without_middle(text, kept, mark))
        taken = count(candidate)
        if taken > limit:
            high, most = kept, taken
        else:
            best, low, least = candidate, kept, taken
        if NEAR * limit <= taken <= limit or high - low <= 1:
            break
    return best


def _without_halves(head: str) -> str:
    end = head[-HALF_CHARS:]
    return (head[:-HALF_CHARS] + _HALF_WORD_BEFORE.sub("", _HALF_PLACEHOLDER_BEFORE.sub("", end))).rstrip()


def _without_middle(text: str, kept: int, mark: str) -> str:
    """Return about `kept` characters of both ends, without halves of words and of placeholders at the cut."""
    if kept >= len(text):
        return text
    head, tail = text[: (kept + 1) // 2], text[len(text) - kept // 2 :]
    head = _without_halves(head)
    half = _HALF_PLACEHOLDER_AFTER.match(tail) or _HALF_WORD_AFTER.match(tail)
    return f"{head}{mark}{tail[half.end() if half else 0 :].lstrip()}".strip()
