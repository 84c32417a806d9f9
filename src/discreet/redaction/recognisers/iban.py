"""International bank account numbers."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import islice

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.context import NOWHERE, Lead, Leads, Words
from discreet.redaction.recognisers.identifiers import digits_are_close, shape

_REGISTRY = (
    "AD:8n12c AE:19n AL:8n16c AT:16n AZ:4a20c BA:16n BE:12n BG:4a6n8c BH:4a14c BI:23n BR:23n1a1c BY:4c4n16c "
    "CH:5n12c CR:18n CY:8n16c CZ:20n DE:18n DJ:23n DK:14n DO:4c20n EE:16n EG:25n ES:20n FI:14n FK:2a12n "
    "FO:14n FR:10n11c2n GB:4a14n GE:2a16n GI:4a15c GL:14n GR:7n16c GT:4c20c HN:4a20n HR:17n HU:24n IE:4a14n "
    "IL:19n IQ:4a15n IS:22n IT:1a10n12c JO:4a4n18c KW:4a22c KZ:3n13c LB:4n20c LC:4a24c LI:5n12c LT:16n "
    "LU:3n13c LV:4a13c LY:21n MC:10n11c2n MD:2c18c ME:18n MK:3n10c2n MN:16n MR:23n MT:4a5n18c MU:4a19n3a "
    "NI:4a20n NL:4a10n NO:11n OM:3n16c PK:4a16c PL:24n PS:4a21c PT:21n QA:4a21c RO:4a16c RS:18n RU:14n15c "
    "SA:2n18c SC:4a20n3a SD:14n SE:20n SI:15n SK:20n SM:1a10n12c SO:19n ST:21n SV:4a20n TL:19n TN:20n "
    "TR:6n16c UA:6n19c VA:18n VG:4a16n XK:16n YE:4a4n18c"
)
"""Country and form of what follows the check digits: a letters, n digits, c either (SWIFT, IBAN Registry)."""

_CLASSES = {"a": "[A-Z]", "n": "[0-9]", "c": "[A-Z0-9]"}


def _structure(form: str) -> re.Pattern[str]:
    return lazy(re.sub("([0-9]+)([anc])", lambda part: f"{_CLASSES[part[2]]}{{{part[1]}}}", form))


STRUCTURES = {entry[:2]: _structure(entry[3:]) for entry in re.findall("[A-Z]{2}:[0-9anc]{1,20}", _REGISTRY)}

LENGTHS = {
    country: 4 + sum(int(size) for size in re.findall(r"\{([0-9]+)\}", structure.pattern))
    for country, structure in STRUCTURES.items()
}
"""Country -> characters in all."""


VALUES = str.maketrans({letter: str(int(letter, 36)) for letter in string.ascii_uppercase})
"""What letters count as."""

NO_CODE = lazy("[^A-Za-z0-9]++")

EDGE = lazy("[A-Za-z0-9]")
"""What may not follow."""


class IbanRecogniser:
    """Finds IBANs in groups, together, or spaced out, in any case.

    The check digits (ISO/IEC 7064, MOD 97-10) prove one. Without them the country's form, and groups of four or a word
    such as "account", make one too, since a typing error leaves the rest readable.
    """

    type = "IBAN"
    LEAST_DIGITS = 4

    SEPARATOR = r"(?:[ .\n\t_-]|\r\n)?"

    HEAD = lazy(
        rf"[A-Za-z](?:(?<![A-Za-z0-9].)|(?<=[Ii][Bb][Aa][Nn].)){SEPARATOR}[A-Za-z]{SEPARATOR}[0-9]{SEPARATOR}[0-9](?={SEPARATOR}[A-Za-z0-9])"
    )
    """Country and check digits."""

    BODY = lazy(rf"(?:{SEPARATOR}[A-Za-z0-9]){{11,34}}+")

    GROUPED = lazy(
        r"[A-Z]{2}[0-9]{2}(?P<separator>[ -])(?:[A-Z0-9]{4}(?:(?P=separator)|\n)){2,7}[A-Z0-9]{1,4}", re.IGNORECASE
    )

    NAMED = Words("", "iban", gap=24, elsewhere=NOWHERE)
    """The word after which even a wrong length counts."""

    ABOUT_BANKS = Words(
        "bank|account|accounts|acct|transfer|wire|payment|pay|sepa|swift|bic|konto|compte|cuenta",
        "ngân hàng|tài khoản|chuyển khoản|счет|счёт|перевод|перевести|реквизит|банк"
        "|帳號|帳戶|账号|账户|匯款|汇款|轉帳|转账|銀行|银行",
        elsewhere=NOWHERE,
    )

    LOOSE = lazy(
        r"[A-Za-z]{2}[0-9]{2}(?:[A-Za-z0-9]{11,30}|(?: [A-Za-z0-9]{4}){2,7}(?: [A-Za-z0-9]{1,3}(?![A-Za-z0-9]))?)"
    )

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all IBANs."""
        if not view.derived(digits_are_close) or b"AA99" not in view.derived(shape):
            return
        text, leads = view.text, view.derived(Leads)
        done = 0
        for head in self.HEAD.finditer(text):
            if head.start() < done:
                continue
            end = self.end(text, head, leads)
            if end is not None:
                done = end
                yield head.start(), end

    def end(self, text: str, head: re.Match[str], leads: Leads) -> int | None:
        """Return where the IBAN that begins with `head` ends; None if it is none."""
        start = head.start()
        country = "".join(filter(str.isalpha, head[0])).upper()
        body = self.BODY.match(text, head.end()) if country in LENGTHS else None
        if body:
            size = LENGTHS[country]
            written = text[start : body.end()]
            code = NO_CODE.sub("", written).upper()[:size]
            if len(code) == size and STRUCTURES[country].fullmatch(code, 4):
                end = start + (size if written[:size].isalnum() else _place(written, size))
                if not EDGE.match(text, end) and (
                    self.validate(code) or self.is_probable(text[start:end], leads.before(start))
                ):
                    return end
        loose = self.LOOSE.match(text, start)
        named = loose and not EDGE.match(text, loose.end()) and leads.before(start).has(self.NAMED)
        return loose.end() if loose and named else None

    def validate(self, code: str) -> bool:
        """Check the check digits: the code, its first four characters last and letters as 10 to 35, leaves 1 by 97."""
        return int((code[4:] + code[:4]).translate(VALUES)) % 97 == 1

    def is_probable(self, written: str, before: Lead) -> bool:
        """Tell whether groups or words speak for an IBAN with wrong check digits."""
        grouped = self.GROUPED.fullmatch(written) is not None
        return grouped or before.has(self.NAMED) or before.has(self.ABOUT_BANKS)


def _place(written: str, size: int) -> int:
    """Return where the first `size` letters and digits of a text end."""
    places = (at for at, char in enumerate(written, start=1) if char.isalnum())
    return next(islice(places, size - 1, None))
