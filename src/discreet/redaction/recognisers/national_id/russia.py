"""Ids of Russia."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Code, Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import inn, snils

PASSPORT = re.compile(
    "(?:0[134578]|1[0-24-57-9]|2[0245-9]|3[02-8]|4[0-24-79]|5[02-467-8]|6[013-9]|7[013-9]|8[0-9]|9[0-9])"
    "(?:9[6-9]|[0-3][0-9])[0-9]{6}"
)
"""Region (the classifier OKATO) and year of the blank, from 1997 on; then the number."""

LEAST_SNILS = 1_001_998
"""Smaller numbers have no check digits (Pension Fund of Russia)."""


def _is_snils(number: Number) -> bool:
    return int(number.digits[:9]) > LEAST_SNILS and snils(number.digits)


class RussiaIdRecogniser(NationalIdRecogniser):
    """Finds passports in groups, insurance and tax numbers and, after words, what else is issued to people."""

    NUMBERS = (
        Digits(
            (10,),
            alone=lambda number: PASSPORT.fullmatch(number.digits) is not None and number.separators.strip(" ") == "",
            shapes=frozenset({(4, 6), (2, 2, 6)}),
            words=Words(
                "passport|pasport|инн|в/у|права",
                "паспорт|серия/номер|серия номер|серия и номер|серию и номер|водительск",
                exact="INN",
            ),
        ),
        Digits(
            (11,),
            alone=_is_snils,
            shapes=frozenset({(11,), (3, 3, 3, 2)}),
            words=Words("snils", "снилс|страховое свидетельство|страхового свидетельства|пенсионного страхования"),
        ),
        Digits(
            (12,),
            alone=lambda number: len(set(number.digits)) > 1 and inn(number.digits),
            shapes=frozenset({(12,)}),
            words=Words("инн", "налогоплательщик", exact="INN"),
        ),
        Digits((9,), words=Words("passport", "загран|паспорт")),
        Digits((16, 9), words=Words("омс|енп", "полис", exact="OMS")),
        Digits((13, 15), words=Words("ogrn|ogrnip", "огрн")),
    )
    CODES = (
        Code(  # certificates of birth, marriage and death
            re.compile(
                r"(?<![^\W_])[IVXLC1УХ]{1,6} ?- ?(?!ОЙ|ЫЙ|ИЙ|ГО|АЯ|УЮ|ОЕ|ЫЕ|МУ|ОМ|ЫХ)[А-ЯЁ]{2} ?(?:№|N|#)? ?[0-9]{6}(?![0-9])"
            ),
            (b"??999999", b"???999999"),
            alone=lambda _: True,
        ),
        Code(
            re.compile(r"(?<![^\W_])[А-ЯЁA-Z]{2} ?(?:№|N|#)? ?[0-9]{7}(?![0-9])"),
            (b"?9999999", b"A9999999", b"#9999999"),
            words=Words(
                "", "военный билет|военного билета|военник|билет офицера|удостоверение офицера|приписное|паспорт"
            ),
        ),
        Code(
            re.compile(r"(?<![^\W_])[0-9]{2} ?[А-ЯЁA-Z]{2} ?(?:№|N|#)? ?[0-9]{6}(?![0-9])"),
            (b"99??", b"99AA"),
            words=Words("в/у|права|прав|ву|стс|птс", "водительск|техпаспорт"),
        ),
        Code(
            re.compile(r"(?<![0-9])[0-9]{2} ?(?:№|N|#) ?[0-9]{7}(?![0-9])"),
            (b"99?9999999", b"99A9999999", b"99#9999999"),
            words=Words("", "загран|паспорт"),
        ),
        Code(
            re.compile(
                r"(?<![0-9])[0-9]{2} ?[0-9]{2}[ ,]{0,2}(?:№|номер|N|#)[ :]{0,2}[0-9]{6}(?![0-9])", re.IGNORECASE
            ),
            words=Words("passport", "паспорт|серия|серии|серию"),
        ),
    )
