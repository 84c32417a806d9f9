"""Ids of Taiwan."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, Digits, NationalIdRecogniser, S
from discreet.redaction.recognisers.national_id.checks import taiwan

CARD = rf"{START}[A-Z]{S}[1289A-D](?:{S}[0-9]){{8}}{END}"
"""A letter for the place, 1 or 2 for citizens, 8 or 9 (once a letter) for foreigners, and eight digits more
(National Immigration Agency)."""


class TaiwanIdRecogniser(NationalIdRecogniser):
    """Finds identity cards, residence certificates and, after words, health insurance cards and passports."""

    IDENTITY = Words("id|arc", "身分證|身份證|身分证|身份证|居留證|居留证|統一證號|统一证号|證號|证号|字號|字号")

    NUMBERS = (
        Digits((12,), words=Words("nhi", "健保卡|健保")),
        Digits((9,), words=Words("passport", "護照|护照")),
        Digits((8,), words=Words("ubn", "統一編號|统一编号|統編|统编")),
    )
    CODES = (
        Code(
            re.compile(f"{START}[A-Z][1289][0-9]{{8}}{END}"), (b"a000000000",), alone=lambda _: True
        ),  # with any check digit, as made-up ones
        Code(re.compile(CARD), (b"A99999999",), alone=taiwan, words=IDENTITY),
        Code(
            re.compile(f"{START}[a-z][1289a-d][0-9]{{8}}{END}"),
            (b"a000000000", b"aa00000000"),
            alone=taiwan,
            words=IDENTITY,
        ),
    )
