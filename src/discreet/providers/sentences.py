"""Cut a text where its sentences end, in the scripts of English, Vietnamese, Russian and Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from discreet.state.text import SENTENCE_END

_ATOM = re.compile(
    r"<[A-Z][A-Z0-9_:]*>|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|[^\s<\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+|<"
)
"""What is not cut in two: a placeholder, a character of a script without spaces, a word."""

Fits = Callable[[str], bool]


def shortened(text: str, fits: Fits) -> str:
    """Return as many sentences of `text`, from the first, as fit; if not even one does, as many words and an ellipsis.

    Placeholders stay whole. The result may be empty.
    """
    text = text.strip()
    if fits(text):
        return text
    whole = _longest(text, [match.end() for match in SENTENCE_END.finditer(text)], fits)
    return whole or _longest(text, [match.end() for match in _ATOM.finditer(text)], fits, ending="…")


def _longest(text: str, ends: Sequence[int], fits: Fits, *, ending: str = "") -> str:
    """Return the longest beginning of `text` up to one of `ends` that fits, found by halving."""
    least, most = 0, len(ends)
    while least < most:
        middle = (least + most + 1) // 2
        if fits(text[: ends[middle - 1]].rstrip() + ending):
            least = middle
        else:
            most = middle - 1
    return text[: ends[least - 1]].rstrip() + ending if least else ""
