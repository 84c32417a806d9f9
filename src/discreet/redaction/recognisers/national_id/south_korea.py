"""Ids of South Korea."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import is_date, korean


def _is_resident(number: Number) -> bool:
    """Check the date of birth, whose century the seventh digit tells; check digits ended in 2020."""
    digits = number.digits
    century = {"9": 1800, "0": 1800, "1": 1900, "2": 1900, "5": 1900, "6": 1900}.get(digits[6], 2000)
    return is_date(century + int(digits[:2]), int(digits[2:4]), int(digits[4:6]))


def _is_unbroken_resident(number: Number) -> bool:
    """Check sex and century of citizens, and the check digit: without a hyphen a number can be anything.

    Those of the first twenty years of the last century look like milliseconds since 1970, and hardly anybody has one.
    """
    old = number.digits[6] in "12" and number.digits < "2"
    return number.digits[6] in "1234" and not old and _is_resident(number) and korean(number.digits)


def _is_licence(number: Number) -> bool:
    return number.separators == "---"


class SouthKoreaIdRecogniser(NationalIdRecogniser):
    """Finds resident and alien registration numbers, driving licences and, after words, business registrations."""

    NUMBERS = (
        Digits(
            (13,),
            alone=_is_resident,
            shapes=frozenset({(6, 7)}),
            words=Words("rrn|resident registration", "주민번호|주민 번호|주민등록|주민 등록|외국인등록"),
        ),
        Digits((13,), alone=_is_unbroken_resident, shapes=frozenset({(13,)})),
        Digits((12,), alone=_is_licence, shapes=frozenset({(2, 2, 6, 2)}), words=Words("", "면허")),
        Digits((10,), words=Words("", "사업자등록|사업자 등록|사업자번호|사업자 번호")),
    )
