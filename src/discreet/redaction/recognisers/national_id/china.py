"""Ids of China, Hong Kong and Macau."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, Digits, NationalIdRecogniser, S
from discreet.redaction.recognisers.national_id.checks import hong_kong, is_date, mod_11_2, social_credit


def _is_resident(code: str) -> bool:
    """Check the date of birth and the check digit (GB 11643)."""
    return is_date(int(code[6:10]), int(code[10:12]), int(code[12:14])) and mod_11_2(code)


def _is_enclosed(code: str) -> bool:
    return hong_kong(code)


class ChinaIdRecogniser(NationalIdRecogniser):
    """Finds resident and Hong Kong identity cards and, after words, permits and social credit codes."""

    IDENTITY = Words("id|resident id", "身份证|身分证|身分證|身份證|居民证|证件|證件|公民身份号码|證號|证号")

    PERMIT = Words("", "通行证|通行證|回乡证|回鄉證|台胞证|台胞證|臺胞證")

    NUMBERS = (
        Digits((15,), words=IDENTITY),
        Digits(
            (18,),
            alone=lambda number: _is_resident(number.digits),
            shapes=frozenset({(18,), (6, 8, 4), (6, 4, 4, 4)}),
            words=IDENTITY,
        ),
        Digits((8, 10), words=PERMIT),
    )
    CODES = (
        Code(
            re.compile(rf"(?<![0-9])[1-9](?:{S}[0-9]){{5}}{S}(?:1{S}9|2{S}0)(?:{S}[0-9]){{9}}{S}[Xx](?![A-Za-z0-9])"),
            (b"99999999999999999A",),
            alone=_is_resident,
            words=IDENTITY,
        ),
        Code(
            re.compile(rf"{START}[A-Z]{{1,2}}[0-9]{{6}} ?\([0-9A]\)"),
            (
                b"a000000(",
                b"a000000 (",
            ),
            alone=_is_enclosed,
        ),
        Code(
            re.compile(rf"{START}[A-Z]{{1,2}}[0-9]{{6}}[0-9A]{END}", re.IGNORECASE),
            (b"a000000",),
            words=Words("hkid|hong kong id|hong kong identity", "身份证|身分证|身分證|身份證"),
        ),
        Code(
            re.compile(rf"{START}[HMC][0-9]{{8}}(?:[0-9]{{2}})?{END}", re.IGNORECASE),
            (b"a00000000",),
            words=PERMIT,
        ),
        Code(  # GB 32100
            re.compile(rf"{START}[0-9A-HJ-NPQRTUWXY]{{2}}[0-9]{{6}}[0-9A-HJ-NPQRTUWXY]{{10}}{END}", re.IGNORECASE),
            (b"000000",),
            alone=lambda code: not code.isdecimal() and social_credit(code),
            words=Words("uscc|social credit code", "信用代码|信用代碼"),
        ),
        Code(
            re.compile(r"[\u4e00-\u9fff]字第 ?[0-9]{6,8} ?[号號]?"),
            (b"?999999",),
            alone=lambda code: code[0] in "军軍武士兵空海",
            words=Words("", "军官证|軍官證|士兵证|士兵證|军人证|軍人證|文职"),
        ),
        Code(
            re.compile(rf"{START}[1578][0-9]{{6}} ?\([0-9]\)"),  # Macau
            (b"0000000(", b"0000000 ("),
            words=Words("bir|macau id|macao id", "身份證|身份证|身分證|身分证"),
        ),
    )
