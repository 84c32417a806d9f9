"""What is left of a value that somebody masked in part: `0912 xxx 568`, `<CARD>8589`, `110101******3284`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.view import BLANK, Span, View

LEAST_CHARS = 8
"""Digits and signs for digits; fewer are times, scores and sizes."""
LEAST_DIGITS = 5
LEAST_SIGNS = 2

NUMBER = re.compile(
    r"(?<![0-9A-Za-z_*•#])\+?[0-9](?:[0-9 ().-]{0,3}[0-9]){0,12}[ .-]{0,2}(?:[*•xX█]{2,12}[ .-]{0,2}){1,4}[0-9](?:[ .-]{0,2}[0-9]){1,11}(?![0-9A-Za-z_*•])"
)
"""Digits on both sides of signs that stand for digits."""
BETWEEN = re.compile(rf"[0-9]{{2,8}} ?{BLANK} ?[0-9]{{2,8}}|[0-9]{{3,8}}{BLANK}|{BLANK}[0-9]{{3,8}}")


class HalfRedactedRecogniser:
    """Finds the digits that were left beside asterisks, the letter x, or a placeholder."""

    type = "PARTIAL_NUMBER"
    NEEDS_DIGIT = True

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such digits."""
        text = view.text
        if any(sign in text for sign in ("**", "••", "xx", "XX", "██")):
            for match in NUMBER.finditer(text):
                digits = sum(map(str.isdigit, match[0]))
                signs = sum(char in "*•xX█" for char in match[0])
                if digits >= LEAST_DIGITS and signs >= LEAST_SIGNS and digits + signs >= LEAST_CHARS:
                    yield match.span()
        if BLANK in text:
            for match in BETWEEN.finditer(text):
                for part in re.finditer("[0-9]+", match[0]):
                    yield match.start() + part.start(), match.start() + part.end()
