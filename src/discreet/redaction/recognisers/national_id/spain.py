"""Ids of Spain."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, NationalIdRecogniser, S
from discreet.redaction.recognisers.national_id.checks import spanish


class SpainIdRecogniser(NationalIdRecogniser):
    """Finds DNI and NIE."""

    WORDS = Words("mi dni|mi nie|my nie|my dni|my nif", exact="DNI|NIE|NIF")

    CODES = (
        Code(
            re.compile(f"{START}(?:[0-9]{{8}}|[XYZ][ -]?[0-9]{{7}})[ -]?[A-Z]{END}"),
            (b"0000000a", b"0000000 a", b"0000000-a"),
            alone=spanish,
            words=WORDS,
        ),
        Code(
            re.compile(rf"{START}[0-9]{{1,2}}\.[0-9]{{3}}\.[0-9]{{3}}(?: ?- ?| )?[A-Z]{END}", re.IGNORECASE),
            (b"9999999A",),
            alone=lambda code: spanish(code.zfill(9)),
            words=WORDS,
        ),
        Code(
            re.compile(f"{START}(?:[0-9]{{8}}|[xyz][0-9]{{7}})[a-z]{END}"), (b"0000000a",), alone=spanish, words=WORDS
        ),
        Code(
            re.compile(rf"{START}(?:[0-9]|[XYZ]{S}(?=[0-9]))(?:{S}[0-9]){{7}}{S}[A-Z]{END}", re.IGNORECASE),
            (b"9999999A",),
            words=WORDS,
        ),
    )
