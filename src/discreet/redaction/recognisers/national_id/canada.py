"""Ids of Canada."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import luhn


def _is_insured(number: Number) -> bool:
    """Check the last digit; no number begins with 0 or 8 (Service Canada)."""
    return number.separators == "--" and number.digits[0] not in "08" and luhn(number.digits)


class CanadaIdRecogniser(NationalIdRecogniser):
    """Finds social insurance numbers."""

    NUMBERS = (
        Digits(
            (9,),
            alone=_is_insured,
            shapes=frozenset({(3, 3, 3)}),
            words=Words("social insurance|my sin", "assurance sociale", exact="SIN|NAS"),
        ),
    )
