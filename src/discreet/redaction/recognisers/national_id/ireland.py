"""Ids of Ireland."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, NationalIdRecogniser
from discreet.redaction.recognisers.national_id.checks import irish


class IrelandIdRecogniser(NationalIdRecogniser):
    """Finds personal public service numbers (Department of Social Protection)."""

    CODES = (
        Code(
            re.compile(f"{START}[0-9]{{7}}[A-W][A-IW]?{END}"),
            (b"0000000a",),
            alone=irish,
            words=Words("pps|ppsn|pps number|pps no"),
        ),
    )
