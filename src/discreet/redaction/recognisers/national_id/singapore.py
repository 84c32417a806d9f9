"""Ids of Singapore."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, NationalIdRecogniser
from discreet.redaction.recognisers.national_id.checks import singapore


class SingaporeIdRecogniser(NationalIdRecogniser):
    """Finds NRIC numbers and the FIN of foreigners (Immigration and Checkpoints Authority)."""

    CODES = (
        Code(
            re.compile(f"{START}[STFGM][0-9]{{7}}[A-Z]{END}"),
            (b"a0000000a",),
            alone=singapore,
            words=Words("nric|nric no|singapore id|singpass", exact="FIN|IC"),
        ),
        Code(re.compile(f"{START}[stfgm][0-9]{{7}}[a-z]{END}"), (b"a0000000a",), words=Words("nric|singpass|fin")),
    )
