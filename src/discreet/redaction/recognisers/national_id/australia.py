"""Ids of Australia."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser


class AustraliaIdRecogniser(NationalIdRecogniser):
    """Finds tax file, business and Medicare numbers after words: other numbers have their forms."""

    NUMBERS = (
        Digits((8, 9), words=Words("tfn|tax file number|tax file no")),
        Digits((11,), words=Words("", exact="ABN")),
        Digits((10, 11), words=Words("my medicare|medicare number|medicare no|medicare card")),
    )
