"""Ids of France."""

from __future__ import annotations

import re

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import END, START, Code, Digits, NationalIdRecogniser, Number, S

STRUCTURE = re.compile(
    "[12][0-9]{2}(?:0[1-9]|1[0-2]|[23][0-9]|4[0-2]|[5-9][0-9])(?:0[1-9]|[1-8][0-9]|9[0-9]|2[AB])[0-9]{6}"
)
"""Sex, year and month of birth (beyond 12: unknown), department, commune and order (INSEE)."""


COMMON_MONTH = re.compile("...(?:0[1-9]|1[0-2])")


def _is_plausible(number: Number) -> bool:
    """Check the key; numbers with a month of the calendar count without it, as nothing else begins so with 15 digits."""
    digits = number.digits
    return has_key(digits) or (STRUCTURE.match(digits) is not None and COMMON_MONTH.match(digits) is not None)


def has_key(code: str) -> bool:
    """Check the two digits of the key; Corsica's departments count as 19 and 18."""
    body = code[:13].replace("2A", "19").replace("2B", "18")
    return STRUCTURE.match(code) is not None and 97 - int(body) % 97 == int(code[13:])


class FranceIdRecogniser(NationalIdRecogniser):
    """Finds social security numbers and, after words, those without their key and tax numbers."""

    WORDS = Words(
        "nir|nss|insee|secu|numero fiscal", "sécurité sociale|sécu|securite sociale|numéro fiscal", exact="SPI"
    )

    NUMBERS = (
        Digits(
            (15,),
            alone=_is_plausible,
            shapes=frozenset({(15,), (13, 2), (1, 2, 2, 2, 3, 3, 2)}),
            words=WORDS,
        ),
        Digits(
            (13,),
            alone=lambda number: STRUCTURE.fullmatch(number.digits) is not None,
            shapes=frozenset({(1, 2, 2, 2, 3, 3)}),
            words=WORDS,
        ),
        Digits((12,), words=Words("cni", "carte d'identité|carte d’identité|carte nationale d|carte d'identite")),
    )
    CODES = (
        Code(
            re.compile(rf"{START}[12](?:{S}[0-9]){{4}}{S}2{S}[AB](?:{S}[0-9]){{8}}{END}"),
            (b"999999A99999999",),
            alone=has_key,
            words=WORDS,
        ),
    )
