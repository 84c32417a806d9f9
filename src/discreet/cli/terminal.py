"""What somebody said, for a terminal."""

from __future__ import annotations

import unicodedata

from rich.markup import escape

_KEPT = frozenset("\n\t\u200c\u200d")
"""Line ends, and the joiners that scripts and emoji are written with."""


def plain(text: str) -> str:
    r"""Return `text` without what moves a terminal's cursor, colours it, or turns the order of its letters; rich takes it as it is.

    Example:
        >>> plain("\x1b[31mred [bold]")
        '[31mred \\[bold]'
    """
    kept = (sign for sign in text if sign in _KEPT or unicodedata.category(sign) not in ("Cc", "Cf"))
    return escape("".join(kept))
