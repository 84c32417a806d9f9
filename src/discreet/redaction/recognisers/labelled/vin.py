"""Vehicle identification numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View

LETTERS = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)
)
WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
REMAINDERS = "0123456789X"
CHARS = len(WEIGHTS)
CHECK_PLACE = 8
LEAST_DIGITS = 5
NEAR = 48


class VinRecogniser:
    """Finds seventeen letters and digits with the check digit of 49 CFR 565.15, or beside a word; ISO 3779 has the form."""

    type = "VIN"
    LEAST_DIGITS = 3
    FORM = lazy(
        r"(?<![A-Za-z0-9])[A-HJ-NPR-Za-hj-npr-z0-9]{3}[ -]?[A-HJ-NPR-Za-hj-npr-z0-9]{6}[ -]?[A-HJ-NPR-Za-hj-npr-z0-9]{8}(?![A-Za-z0-9])"
    )
    WORDS = lazy(
        r"(?<![a-z])(?:vin|chassis|fahrgestell\w*|fin|bastidor|châssis|telaio)(?![a-z])|вин|кузов|шасси|số khung|so khung|车架|車架|車身|车身|車台|차대",
        re.IGNORECASE,
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such numbers."""
        text = view.text
        for match in self.FORM.finditer(text):
            number = match[0].replace(" ", "").replace("-", "").upper()
            if len(number) != CHARS or number.isdigit() or sum(map(str.isdigit, number)) < LEAST_DIGITS:
                continue
            if is_valid(number) or self.WORDS.search(text, max(0, match.start() - NEAR), match.start()):
                yield match.span()


def is_valid(number: str) -> bool:
    """Tell whether the check digit of a number fits, which those of North America and China have."""
    if not number[-4:].isdigit():
        return False
    total = sum(
        (LETTERS[char] if char in LETTERS else int(char)) * weight for char, weight in zip(number, WEIGHTS, strict=True)
    )
    return number[CHECK_PLACE] == REMAINDERS[total % 11]
