"""Ids of Mexico."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, NationalIdRecogniser

DATE = "[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"


class MexicoIdRecogniser(NationalIdRecogniser):
    """Finds the CURP (RENAPO): letters of the name, date of birth, sex, state; after words also the RFC."""

    CODES = (
        Code(
            re.compile(
                rf"{START}[A-Z][AEIOUX][A-Z]{{2}}{DATE}[HMX][A-Z]{{5}}[0-9A-Z][0-9]{END}",
                re.IGNORECASE,
            ),
            (b"aaaa000000aaaaaa",),
            alone=lambda _: True,
        ),
        Code(
            re.compile(rf"{START}[A-Z&]{{3,4}}{DATE}[0-9A-Z]{{3}}{END}", re.IGNORECASE),
            (b"000000",),
            words=Words("rfc|curp"),
        ),
    )
