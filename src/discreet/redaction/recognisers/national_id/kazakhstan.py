"""Ids of Kazakhstan."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import is_date, kazakh


def _is_individual(number: Number) -> bool:
    """Check the date of birth, the digit of sex and century, and the last digit."""
    digits = number.digits
    century = {"1": 1800, "2": 1800, "3": 1900, "4": 1900, "5": 2000, "6": 2000}.get(digits[6])
    born = century is not None and is_date(century + int(digits[:2]), int(digits[2:4]), int(digits[4:6]))
    return born and kazakh(digits)


class KazakhstanIdRecogniser(NationalIdRecogniser):
    """Finds individual and, after words, business identification numbers."""

    NUMBERS = (
        Digits(
            (12,), alone=_is_individual, shapes=frozenset({(12,)}), words=Words("иин|бин|жсн|бсн|iin", exact="IIN|BIN")
        ),
    )
