"""Ids of Japan."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import my_number


def _is_individual(number: Number) -> bool:
    """Check the last digit, unless three groups with spaces read as nothing else: neither as years nor as a sequence."""
    if my_number(number.digits):
        return True
    if number.separators != "  " or number.digits[0] == "0":
        return False
    groups = [number.digits[at : at + 4] for at in (0, 4, 8)]
    years = any(group.startswith(("19", "200", "201", "202", "203")) for group in groups)
    rounded = sum(group.endswith("0") for group in groups) > 1
    return not rounded and not years and groups != sorted(groups)


class JapanIdRecogniser(NationalIdRecogniser):
    """Finds individual numbers ("My Number"), and other numbers in three groups of four, or after words."""

    NUMBERS = (
        Digits(
            (12,),
            alone=_is_individual,
            shapes=frozenset({(4, 4, 4)}),
            words=Words("my number|mynumber", "マイナンバー|個人番号|免許証"),
        ),
    )
