"""Payment card numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.digits import Window, digits_of, scan
from discreet.redaction.recognisers.introductions import Introductions

_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
"""Digit -> digit sum of its double, the step of Luhn's formula (ISO/IEC 7812-1, annex B)."""

LEAST_DIGITS = 14
"""Shorter ones, of Maestro and of Visa long ago, need a word before them: bar codes have 13 digits and a check digit too."""

CONTEXT_CHARS = 32
"""How far before a number words count."""

MOST_GROUPS = 8
"""Pairs of digits. More groups than that are single digits, or many numbers."""


class CardRecogniser:
    """Finds digits that have the range and length of a card scheme, and a correct check digit or a word such as "card"."""

    type = "CARD"
    LEAST_DIGITS = 12

    SCHEMES = re.compile(
        r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"  # Visa
        r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"  # Mastercard
        r"|3[47][0-9]{13}"  # American Express
        r"|3(?:0[0-59]|[689][0-9])[0-9]{11}(?:[0-9]{2})?"  # Diners Club
        r"|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12,15}"  # Discover
        r"|35[0-9]{14,17}|(?:2131|1800)[0-9]{11}"  # JCB; all of 35, as generators of test data use it
        r"|(?:62|81)[0-9]{14,17}"  # UnionPay
        r"|220[0-4][0-9]{12,15}"  # Mir
        r"|9704[0-9]{12}(?:[0-9]{3})?|9792[0-9]{12}|(?:8600|9860)[0-9]{12}"  # NAPAS, Troy, Uzcard, Humo
        r"|(?:50|5[6-8]|6[0-9])[0-9]{10,17}"  # Maestro and other domestic schemes
    )
    """Issuer ranges and lengths: https://en.wikipedia.org/wiki/Payment_card_number"""

    MAY_BEGIN = re.compile("[456]|3[04-9]|2[1-7]|1800|81|9704|9792|8600|9860")
    """First digits of the schemes."""

    GROUPED_TEXT = re.compile(r"(?<![0-9])[0-9]{4}([ .-])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?![0-9])")
    """What may be written backwards, if its check digit says so."""

    ABOUT_CARDS = re.compile(
        r"(?:(?<![a-z])(?:cards?|cc|visa|mastercard|amex|maestro)(?![a-z])|thẻ|карт[аыеуой]{1,2}|卡)(?:\. ?(?:the "
        r"|its |my )?number)?(?: ?(?:no|nr|num)\.)?[^0-9.!?。！？]{0,24}\Z",
        re.IGNORECASE,
    )
    """Words after which a wrong check digit is a typing error: all but one digit would leak."""

    COMMON = re.compile("4|5[1-5]|3[47]|6011|62|220|9704")
    """Of the schemes that most people have: a sum of four numbers rarely begins so."""
    GROUPED = frozenset({(4, 4, 4, 4), (4, 6, 5), (4, 4, 4, 4, 3)})
    """As cards are printed. Hardly another number is, so there the check digit may be wrong."""

    SHAPES = re.compile(r"[0-9]{2}|(?:4,)+[1-4]|4,6,[45]|6,(?:10|13)|8,8|4,4,8|4,12|(?:1,)+1")
    """Sizes of the groups in which cards are written, if no word introduces them: tables of numbers have others."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all card numbers."""
        digits = view.derived(digits_of)
        words = Introductions(digits.text, self.ABOUT_CARDS, chars=CONTEXT_CHARS)

        def choose(windows: Iterable[Window]) -> Window | None:
            named: bool | None = None
            for window in windows:
                if not self.SCHEMES.fullmatch(window.digits):
                    continue
                named = words.introduce(window) if named is None else named
                if self.accepts(window, named=named):
                    return window
            return None

        for window in scan(
            digits,
            least=12,
            most=19,
            most_groups=MOST_GROUPS,
            may=lambda following, _: self.MAY_BEGIN.match(following),
            choose=choose,
        ):
            words.take(window, introduced=words.introduce(window))
            yield window.start, window.end
        for match in self.GROUPED_TEXT.finditer(digits.text):
            if self.validate(re.sub("[^0-9]", "", match[0])[::-1]):
                yield match.span()

    def accepts(self, window: Window, *, named: bool) -> bool:
        """Tell whether the digits are a card's; where they are grouped like one, whatever the check digit."""
        shape = ",".join(map(str, window.sizes))
        if not named and (len(window.digits) < _least_digits(window) or not self.SHAPES.fullmatch(shape)):
            return False
        return self.validate(
            window.digits,
            named=named
            or (
                window.sizes in self.GROUPED
                and not window.lines
                and not window.crowd
                and self.COMMON.match(window.digits) is not None
            ),
        )

    def validate(self, digits: str, *, named: bool = False) -> bool:
        """Tell whether scheme, length and check digit agree; of a number `named` as a card only scheme and length."""
        if not self.SCHEMES.fullmatch(digits) or len(set(digits)) == 1:
            return False
        return named or has_check_digit(digits)


def _least_digits(window: Window) -> int:
    """Return how many digits a window must have if no word introduces it: bar codes are not grouped like cards."""
    return LEAST_DIGITS - 1 if len(window.sizes) > 1 else LEAST_DIGITS


def has_check_digit(digits: str) -> bool:
    """Tell whether the last digit is that of Luhn's formula."""
    reverse = digits.encode("ascii")[::-1]
    total = sum(reverse[::2]) + sum(reverse[1::2].translate(_DOUBLED))
    return (total - ord("0") * len(digits)) % 10 == 0
