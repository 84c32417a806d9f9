"""Ids of India."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import verhoeff


def _is_aadhaar(number: Number) -> bool:
    return number.digits[0] not in "01" and verhoeff(number.digits)


class IndiaIdRecogniser(NationalIdRecogniser):
    """Finds Aadhaar numbers (UIDAI) and permanent account numbers, whose fourth letter is the kind of holder."""

    NUMBERS = (
        Digits(
            (12,), alone=_is_aadhaar, shapes=frozenset({(4, 4, 4)}), words=Words("aadhaar|aadhar|uidai|uid", "आधार")
        ),
    )
    CODES = (
        Code(
            re.compile(rf"{START}[A-Z]{{3}}[ABCFGHJLPT][A-Z][0-9]{{4}}[A-Z]{END}"),
            (b"aaaaa0000a",),
            alone=lambda _: True,
        ),
    )
