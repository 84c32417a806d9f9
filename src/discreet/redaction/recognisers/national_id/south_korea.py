"""Ids of South Korea."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import is_date


def _is_resident(number: Number) -> bool:
    """Check the date of birth, whose century the seventh digit tells; check digits ended in 2020."""
    digits = number.digits
    century = {"9": 1800, "0": 1800, "1": 1900, "2": 1900, "5": 1900, "6": 1900}.get(digits[6], 2000)
    return is_date(century + int(digits[:2]), int(digits[2:4]), int(digits[4:6]))


class SouthKoreaIdRecogniser(NationalIdRecogniser):
    """Finds resident and alien registration numbers."""

    NUMBERS = (
        Digits(
            (13,),
            alone=_is_resident,
            shapes=frozenset({(6, 7)}),
            words=Words("rrn|resident registration", "주민번호|주민 번호|주민등록|주민 등록|외국인등록"),
        ),
    )
