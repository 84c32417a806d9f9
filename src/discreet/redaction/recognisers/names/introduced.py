"""Names behind, or before, words that introduce them: what the recognisers of several languages share."""

from __future__ import annotations

import re

WORD = re.compile(r"[A-Z]\.|[^\W\d_]{1,24}+(?:['’-][^\W\d_]{1,24}+){0,3}+")
"""A word of a name, or an initial."""

REACH = 160
"""More characters than a name has together with what introduces it."""


class Introduced:
    """Tells how far back an unfinished text may hold part of a name: what introduces it stands right beside it."""

    type = "PERSON"

    def open_from(self, text: str) -> int:
        """Return where what may yet become a name begins."""
        return max(0, len(text) - REACH)


def is_capitalised(word: str) -> bool:
    """Tell whether a word begins with a capital letter."""
    return word[:1].isupper()
