"""Ids of Germany."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import german_pension, is_date, mod_11_10, repeats_one_digit


def _is_tax_id(number: Number) -> bool:
    return number.digits[0] != "0" and repeats_one_digit(number.digits) and mod_11_10(number.digits)


def _is_pension_number(code: str) -> bool:
    """Check the date of birth, between the district and the first letter of the name, and the last digit."""
    day, month, year = (int(code[at : at + 2]) for at in (2, 4, 6))
    return (is_date(1900 + year, month, day) or is_date(2000 + year, month, day)) and german_pension(code)


class GermanyIdRecogniser(NationalIdRecogniser):
    """Finds tax ids and, after words, identity cards, passports and insurance numbers."""

    NUMBERS = (
        Digits(
            (11,),
            alone=_is_tax_id,
            shapes=frozenset({(11,), (2, 3, 3, 3)}),
            words=Words(
                "steuer id|steuerid|steueridentifikationsnummer|steuerliche|idnr|identifikationsnummer", exact="TIN"
            ),
        ),
        Digits((10, 11, 13), words=Words("steuernummer|st nr|stnr")),
    )
    CODES = (
        Code(
            re.compile(rf"{START}[CFGHJKLMNPRTVWXYZ][0-9CFGHJKLMNPRTVWXYZ]{{8}}[0-9]?D?{END}", re.IGNORECASE),
            words=Words("ausweis|personalausweis|reisepass"),
        ),
        Code(
            re.compile(rf"{START}[0-9]{{2}}[ -]?[0-9]{{6}}[ -]?[A-Z][ -]?[0-9]{{3}}{END}", re.IGNORECASE),
            (b"99999999A999",),
            alone=_is_pension_number,
            words=Words("svnr|rvnr|sv nr|rv nr|sv nummer|rv nummer", "versicherungsn"),
        ),
    )
