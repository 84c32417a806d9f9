"""Numbers that are cut into equal pieces, by signs that no number has: `0,9,1,2`, `[8491][2345][678]`, `4111|1111`."""

# ruff: noqa: RUF001 - the look-alikes themselves

from __future__ import annotations

import re
import unicodedata

from discreet.redaction.view import View

_SIGN = r"[^0-9A-Za-z\u00c0-\u024f\u0400-\u04ff\u1e00-\u1eff\u4e00-\u9fff\0]"
_JOINT = rf"(?P<joint>(?:<[a-z/! -]{{1,12}}>|{_SIGN}){{1,5}}?)"

ONES = re.compile(rf"(?<![0-9])[0-9]{_JOINT}[0-9](?:(?P=joint)[0-9]){{5,17}}(?![0-9])")
THREES = re.compile(
    rf"(?<![0-9])[0-9]{{3}}{_JOINT}[0-9]{{3}}(?:(?P=joint)[0-9]{{3}}){{0,5}}(?:(?P=joint)[0-9]{{1,2}})?(?![0-9])"
)
FOURS = re.compile(
    rf"(?<![0-9])[0-9]{{4}}{_JOINT}[0-9]{{4}}(?:(?P=joint)[0-9]{{4}}){{0,4}}(?:(?P=joint)[0-9]{{1,3}})?(?![0-9])"
)
"""Pieces of one, three or four digits, the last one shorter, with the very same between them."""

LEAST_DIGITS = 9
"""Shorter ones are more often lists."""

USUAL = re.compile(r"[ .()-]*|[ .()-]*\n[ ]*")
"""What may stand in numbers anyway, see `recognisers.digits`."""

LETTERS_FOR_DIGITS = str.maketrans("OoОоlIZSB", "000011258")
DISGUISED = re.compile(r"(?<![^\W_])(?=[0-9OoОоlIZSB]*[0-9])(?=[0-9]*[OoОоlIZSB])[0-9OoОоlIZSB]{3,19}(?![^\W_])")
"""A word of digits and of letters that look like them."""

RAISED = re.compile("[⁰¹²³⁴-⁹₀-₉]")
"""Digits above or below the line; the 2 of m² is read as one here only."""

LEAST_SIGNS = re.compile(r"[0-9] ?[^0-9A-Za-z\s.()-]|[₀-₉⁰-⁹²³¹]{3}|[0-9][OoОоlIZSB][0-9]|[OoОоlIZSB][0-9]{2}")


def joined(view: View) -> View | None:
    """Return the view with such numbers put together; None if there are none."""
    if not LEAST_SIGNS.search(view.text):
        return None
    whole = view if view.text.isascii() else view.replaced(RAISED, lambda match: str(unicodedata.digit(match[0])))
    for pattern in (ONES, THREES, FOURS):
        whole = whole.replaced(pattern, _digits)
    whole = whole.replaced(DISGUISED, lambda match: match[0].translate(LETTERS_FOR_DIGITS))
    return None if whole is view or whole.text == view.text else whole


def _digits(match: re.Match[str]) -> str:
    digits = "".join(filter(str.isdigit, re.sub("<[^>]*>", "", match[0])))
    return match[0] if USUAL.fullmatch(match["joint"]) or len(digits) < LEAST_DIGITS else digits
