"""Ids of Canada."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser


class CanadaIdRecogniser(NationalIdRecogniser):
    """Finds social insurance numbers, after words: any three groups of three look like one."""

    NUMBERS = (
        Digits(
            (9,),
            words=Words("social insurance|my sin", "assurance sociale", exact="SIN|NAS"),
        ),
    )
