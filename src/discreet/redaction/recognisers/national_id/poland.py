"""Ids of Poland."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import is_date, pesel

CENTURIES = (1900, 2000, 2100, 2200, 1800)
"""Century of birth by how many twenties are added to the month."""


def _is_pesel(number: Number) -> bool:
    twenties, month = divmod(int(number.digits[2:4]), 20)
    year = CENTURIES[twenties] + int(number.digits[:2])
    return is_date(year, month, int(number.digits[4:6])) and pesel(number.digits)


class PolandIdRecogniser(NationalIdRecogniser):
    """Finds PESEL numbers and, after words, tax numbers."""

    NUMBERS = (
        Digits((11,), alone=_is_pesel, shapes=frozenset({(11,)}), words=Words("pesel")),
        Digits((10,), words=Words("", exact="NIP")),
    )
