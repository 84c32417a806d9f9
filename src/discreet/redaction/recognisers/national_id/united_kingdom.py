"""Ids of the United Kingdom."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, Digits, NationalIdRecogniser, S

INSURANCE = rf"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z]{S}[A-CEGHJ-NPR-TW-Z](?:{S}[0-9]){{6}}{S}[A-D]"
"""National insurance numbers without the letters that are ruled out (HMRC, National Insurance Manual, NIM39110)."""


def _is_valid(_: str) -> bool:
    return True


class UnitedKingdomIdRecogniser(NationalIdRecogniser):
    """Finds national insurance numbers, driving licences and, after words, NHS numbers and tax references."""

    NUMBERS = (
        Digits(
            (10,),
            words=Words(
                "nhs number|nhs no|nhs num|nhs id|nhs:|nhs #|nhs is|national health|health service number|chi number"
            ),
        ),
        Digits((10, 13), words=Words("utr|unique taxpayer|self assessment")),
    )
    CODES = (
        Code(re.compile(f"{START}{INSURANCE}{END}"), (b"AA999999A",), alone=_is_valid),
        Code(re.compile(f"{START}{INSURANCE.replace(S, '')}{END}", re.IGNORECASE), (b"aa000000a",), alone=_is_valid),
        Code(
            re.compile(rf"{START}[A-Z]{{2}}(?:{S}[0-9]){{6}}{S}[A-Z]{END}", re.IGNORECASE),
            (b"AA999999A",),
            words=Words("nino|ni number|ni no|national insurance"),
        ),
        Code(  # DVLA: five of the surname, date of birth with 5 added to the month's tens for women, initials, check
            re.compile(
                rf"{START}[A-Z](?:[A-Z]{{4}}|[A-Z]{{3}}9|[A-Z]{{2}}99|[A-Z]999|9999){S}[0-9][0156][0-9][0-3][0-9]{{2}}{S}"
                rf"[A-Z][A-Z9]{S}[0-9A-Z]{S}[A-Z]{{2}}{END}"
            ),
            (b"999999AAAAA", b"999999A9AAA", b"999999AA9AA", b"999999A99AA"),
            alone=_is_valid,
        ),
    )
