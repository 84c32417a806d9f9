"""Numbers of bank accounts, beside the words for them."""

from __future__ import annotations

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.recognisers.labelled.base import Labelled, LabelledRecogniser
from discreet.redaction.word_index import Kinds

DIGITS = range(6, 21)
"""From British accounts (8) and Japanese ones (7) to Russian ones (20)."""
SURELY_ACCOUNT = 9
LEAST_AFTER_ACCOUNT = 7
"""Digits after a bare "account": shorter numbers are amounts as well."""
NUMBERED = lazy(r"n[ro.º°]|num|núm|№|號|号|番|번호|nomor|नंबर|संख्या|เลข|رقم|[:#=-]")
"""What makes a number of an account of it."""


BRANCH = lazy("[0-9]{4,12}-[0-9]")
"""With its check digit."""


class BankAccountRecogniser(LabelledRecogniser):
    """Finds digits behind "account number", "stk", "р/с", "账号", "계좌번호" and the like. IBANs have a recogniser of their own."""

    type = "BANK_ACCOUNT"
    NAMES = Kinds("identity", "bank")
    LEAST_DIGITS = 6
    VALUE = lazy(
        r"(?<![0-9A-Za-z_.,/+-])(?<![0-9]:)[A-Z]{4}0[A-Z0-9]{6}(?![0-9A-Za-z_])|"
        r"(?<![0-9A-Za-z_.,/+-])(?<![0-9]:)[0-9](?:[ -]?[0-9]){5,23}(?:[/-][0-9]{1,3})?(?![0-9A-Za-z_]|[.,:/][0-9]|[ ]?(?:%|€|\$|₽|đ|₫|zł|円|元|원))"
    )

    def valid(self, found: Labelled) -> bool:
        """Tell an account from an amount."""
        branch = BRANCH.fullmatch(found.value) is not None
        numbered = branch or NUMBERED.search(found.gap) is not None or NUMBERED.search(found.name) is not None
        if found.digits not in DIGITS or not (numbered or found.digits >= LEAST_AFTER_ACCOUNT):
            return False
        return numbered or found.words_between <= 1 or found.digits >= SURELY_ACCOUNT
