"""Ids of Vietnam."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, Digits, NationalIdRecogniser, Number, S

PROVINCES = frozenset(
    f"{code:03}"
    for code in (
        1, 2, 4, 6, 8, 10, 11, 12, 14, 15, 17, 19, 20, 22, 24, 25, 26, 27, 30, 31, 33, 34, 35, 36, 37, 38, 40, 42, 44, 45,
        46, 48, 49, 51, 52, 54, 56, 58, 60, 62, 64, 66, 67, 68, 70, 72, 74, 75, 77, 79, 80, 82, 83, 84, 86, 87, 89, 91, 92,
        93, 94, 95, 96,
    )
)  # fmt: skip
"""First three digits of a citizen's card: where the birth was registered (Circular 07/2016/TT-BCA, annex 1)."""


def _is_citizen(number: Number) -> bool:
    """Check the province, and sex and century of birth: 0 to 3 for those born from 1900 to 2099."""
    return number.digits[:3] in PROVINCES and number.digits[3] in "0123"


def _is_old_card(number: Number) -> bool:
    """Check the province of an old identity card; only those that begin with 0 differ from other numbers."""
    return number.digits[0] == "0" and number.digits[1] != "0"


class VietnamIdRecogniser(NationalIdRecogniser):
    """Finds citizen's cards, old identity cards, passports and, after words, tax and insurance numbers."""

    IDENTITY = Words(
        "cccd|cmnd|cmt|cmtnd|citizen id|citizen identity|can cuoc|chung minh",
        "căn cước|chứng minh nhân dân|chứng minh thư|định danh|số chứng minh|公民身分證|公民身份证|越南身分證|越南身份证",
    )

    INSURANCE = Words("bhxh|bhyt|bao hiem", "bảo hiểm xã hội|bảo hiểm y tế|thẻ bảo hiểm|sổ bảo hiểm")

    NUMBERS = (
        Digits((12,), alone=_is_citizen, shapes=frozenset({(12,), (3, 3, 3, 3), (4, 4, 4)}), words=IDENTITY),
        Digits((9,), alone=_is_old_card, shapes=frozenset({(9,)}), words=IDENTITY),
        Digits((10, 13), words=Words("mst|ma so thue|tax code", "mã số thuế|mã thuế")),
        Digits((10, 13, 15), words=INSURANCE),
    )
    CODES = (
        Code(
            re.compile(rf"{START}[A-Z]{{2}}[ -]?[1-5](?:[ -]?[0-9]){{12}}{END}"), (b"AA9999999999999",), words=INSURANCE
        ),
        Code(re.compile(f"{START}[BCNPK][0-9]{{7}}{END}"), (b"a0000000",), alone=lambda _: True),
        Code(
            re.compile(rf"{START}[A-Z]{S}[0-9](?:{S}[0-9]){{6,7}}{END}", re.IGNORECASE),
            (b"A9999999",),
            words=Words("passport|ho chieu", "hộ chiếu|護照|护照|паспорт"),
        ),
    )
