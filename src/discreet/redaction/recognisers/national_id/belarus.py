"""Ids of Belarus."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, NationalIdRecogniser


class BelarusIdRecogniser(NationalIdRecogniser):
    """Finds personal numbers: sex and century, date of birth, region, order, citizenship and a check digit."""

    CODES = (
        Code(
            re.compile(
                f"{START}[1-6][0-9]{{6}}[ABCHKEMАВСНКЕМ][0-9]{{3}}(?:PB|BA|BI|РВ|ВА)[0-9]{END}",
                re.IGNORECASE,
            ),
            (b"0000000a000", b"0000000?000"),
            alone=lambda _: True,
        ),
        Code(
            re.compile(f"{START}[1-6][0-9]{{6}}[A-ZА-Я][0-9]{{3}}[A-ZА-Я]{{2}}[0-9]{END}", re.IGNORECASE),
            (b"0000000a000", b"0000000?000"),
            words=Words("", "личный номер|личного номера|идентификационн|паспорт"),
        ),
    )
