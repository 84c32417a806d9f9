"""Ids of the United States."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser, Number

ASSIGNED = re.compile("(?!000|666|9)[0-9]{3}(?!00)[0-9]{2}(?!0000)[0-9]{4}|9[0-9]{2}[5-9][0-9]{5}")
"""Social security numbers (https://www.ssa.gov/employer/randomization.html) and ITINs (IRS, Publication 1915)."""


def _is_ssn(number: Number) -> bool:
    """Accept every number written with two hyphens, as made-up ones are; others must be assignable."""
    return number.separators == "--" or ASSIGNED.fullmatch(number.digits) is not None


class UnitedStatesIdRecogniser(NationalIdRecogniser):
    """Finds social security numbers, ITINs and, after words, employer numbers."""

    NUMBERS = (
        Digits(
            (9,),
            alone=_is_ssn,
            shapes=frozenset({(3, 2, 4)}),
            words=Words(
                "ssn|ssns|social security|social insurance number|itin|employer identification|taxpayer id"
                "|tax id|taxid|tax identification|taxpayer identification",
                "an sinh xã hội|социального страхования|социального обеспечения|社會安全|社会安全|社安號|社安号",
                exact="EIN|FEIN|TIN",
            ),
        ),
    )
