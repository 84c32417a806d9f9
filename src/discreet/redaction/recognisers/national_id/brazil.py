"""Ids of Brazil."""

from __future__ import annotations

from discreet.redaction.recognisers.context import Words
from discreet.redaction.recognisers.national_id.base import Digits, NationalIdRecogniser, Number
from discreet.redaction.recognisers.national_id.checks import cpf


def _is_cpf(number: Number) -> bool:
    return number.separators == "..-" or cpf(number.digits)


class BrazilIdRecogniser(NationalIdRecogniser):
    """Finds the CPF (Receita Federal); printed as 123.456.789-09 it is one with any check digits."""

    NUMBERS = (
        Digits((11,), alone=_is_cpf, shapes=frozenset({(11,), (3, 3, 3, 2)}), words=Words("cpf")),
        Digits((14,), words=Words("cnpj")),
    )
