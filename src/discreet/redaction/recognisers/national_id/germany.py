"""Ids of Germany."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import mod_11_10, repeats_one_digit


def _is_tax_id(number: Number) -> bool:
    return number.digits[0] != "0" and repeats_one_digit(number.digits) and mod_11_10(number.digits)


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
            re.compile(rf"{START}[0-9]{{8}} ?[A-Z] ?[0-9]{{3}}{END}", re.IGNORECASE),
            (b"99999999A999",),
            words=Words("svnr|rvnr", "versicherungsn"),
        ),
    )
