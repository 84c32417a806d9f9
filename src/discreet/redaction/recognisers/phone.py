"""Telephone numbers in international and national form."""

# ruff: noqa: RUF001 - the words are written in their own letters

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE as CODES
from phonenumbers import PhoneMetadata, PhoneNumber, ValidationResult

from discreet.errors import ConfigurationError
from discreet.redaction.recognisers.base import Span, View
from discreet.redaction.recognisers.digits import Window, scan, without_lookalikes

DEFAULT_REGIONS = ("US", "GB", "VN", "RU", "TW", "CN")
"""Regions whose national formats are known without a country code (ISO 3166-1)."""

CONTEXT_CHARS = 40
"""How far before a number words count."""

LEAST_NATIONAL_DIGITS = 9
"""Shorter ones need `+` or a word: too many other numbers have eight digits, dates among them."""

MOST_GROUPS = 6
"""`+1 (0) 12 34 56 78` is as finely divided as numbers get, unless digit by digit."""

NANP = 1
"""Country code of the United States, Canada and the Caribbean."""

BARE = {NANP: "[2-9][0-9]{2}[2-9][0-9]{6}", 86: "1[3-9][0-9]{9}"}
"""Country code -> numbers commonly written without any prefix: North American ones and Chinese mobiles."""

KINDS = ("fixed_line", "mobile", "toll_free", "shared_cost", "premium_rate", "personal_number", "pager", "voip", "uan")
"""Kinds of numbers in phonenumbers' metadata that one can dial."""

NANP_GROUPS = {(10,), (11,), (3, 7), (6, 4), (3, 3, 4), (1, 10), (1, 3, 7), (1, 3, 3, 4)}
"""Two of five ten-digit numbers could be North American, so there the grouping has to fit too."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How one region writes its numbers."""

    region: str
    country_code: int
    written: re.Pattern[str]
    """Test before the exact one, thirty times cheaper: digits as the region writes them."""

    @classmethod
    def of(cls, region: str) -> _Plan:
        metadata = PhoneMetadata.metadata_for_region(region)
        if metadata is None or metadata.country_code is None:
            raise ConfigurationError(
                f"{region!r} is no region with telephone numbers (ISO 3166-1 alpha-2, such as 'VN')."
            )
        code, trunk = metadata.country_code, metadata.national_prefix
        described = (getattr(metadata, kind) for kind in (["general_desc"] if code == NANP else KINDS))
        national = "|".join(each.national_number_pattern for each in described if each and each.national_number_pattern)
        prefixed = rf"(?:{trunk or code}|{code})(?P<national>{national})"
        bare = rf"|(?P<bare>{BARE[code]})" if code in BARE else ""
        return cls(region=region, country_code=code, written=re.compile(prefixed + bare))

    def assigns(self, window: Window) -> bool:
        """Tell whether a number of the region, or of one that shares its country code, reads as this window."""
        written = self.written.fullmatch(window.digits)
        if written is None:
            return False
        national = int(written["national"] or written["bare"])
        number = PhoneNumber(country_code=self.country_code, national_number=national)
        if self.country_code != NANP:
            return phonenumbers.is_valid_number_for_region(number, self.region)
        return (window.spelled_out or window.sizes in NANP_GROUPS) and phonenumbers.is_valid_number(number)


class PhoneRecogniser:
    """Finds digit groups that read as a telephone number; `phonenumbers` decides, and never scans.

    Three doors: `+` or `00` and a country code; the national form of one of `regions`, unless a word such as "order"
    stands before it or it is grouped like a price; and any possible number after a word such as "phone".
    """

    type = "PHONE"

    INTERNATIONAL = re.compile(r"\+[ (]{0,2}\Z")
    OPENING = re.compile(r"(?:\+ ?)?\(?\Z")
    EXTENSION = re.compile(
        r"[ ,]{0,2}(?:#|x|ext\.?|доб\.?|máy lẻ|轉|转|分機|分机)[ :.]{0,2}[0-9]{1,6}(?![0-9])", re.IGNORECASE
    )

    ABOUT_PHONES = re.compile(
        r"(?:(?<![a-z])(?:(?:tele|cell)?phones?|tel|mobile|cell|fax|call|calling|ring|dial|reach (?:me|us|him|her|them)"
        r"|whatsapp|viber|zalo|sms)(?![a-z])"
        r"|điện thoại|sđt|đt|gọi|liên hệ|di động|hotline"
        r"|телефон|тел\.|звон|моб\.|номер телефона|сотов"
        r"|電話|电话|手機|手机|致電|致电|請打|请打|傳真|传真)[^0-9.!?。！？]{0,24}\Z",
        re.IGNORECASE,
    )
    """Words after which a number of any plausible length is one to call."""

    ABOUT_OTHER_NUMBERS = re.compile(
        r"(?:(?<![a-z])(?:order|invoice|tracking|ticket|reference|ref|isbn|ean|upc|sku|serial|part|case|build|commit|id)"
        r"|đơn hàng|mã đơn|hóa đơn|заказа?|счёта?|инн|訂單|订单|單號|单号|編號|编号)"
        r"(?: ?(?:number|no\.?|nr\.?|số|номер|id|編號|编号|號碼|号码))?[ :#№=是為为-]{0,4}\Z"
        r"|[a-z]-\Z",
        re.IGNORECASE,
    )
    """Words after which a number is not one to call, if it has neither `+` nor a word of the other kind. Letters and a
    hyphen begin a product code."""

    MONEY_BEFORE = re.compile(r"[$€£¥₫₽][ ]?\Z")
    MONEY_AFTER = re.compile(r"[ ]?(?:[$€£¥₫₽%]|đ(?![a-z])|đồng|vnd|usd|eur|руб|元|円|塊|tỷ|triệu)", re.IGNORECASE)

    def __init__(self, *, regions: Sequence[str] = DEFAULT_REGIONS) -> None:
        self._plans = tuple(map(_Plan.of, regions))

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all numbers, with `+`, parentheses and extension."""
        text = view.derived(without_lookalikes)

        def choose(windows: Sequence[Window]) -> Window | None:
            return self.choose(text, windows)

        for window in scan(text, least=7, most=15, choose=choose):
            extension = self.EXTENSION.match(text, window.end)
            yield self.opening(text, window), extension.end() if extension else window.end

    def opening(self, text: str, window: Window) -> int:
        """Return where the number begins: at its `+`, or at a parenthesis that is closed within it."""
        signs = self.OPENING.search(text[max(0, window.start - 3) : window.start])
        closed = ")" in text[window.start : window.end]
        return window.start - len(signs[0] if closed else signs[0].rstrip("(")) if signs else window.start

    def choose(self, text: str, windows: Sequence[Window]) -> Window | None:
        """Return the window that is a number, of those that begin at one place."""
        if not windows[0].leading:
            return next((each for each in windows if self.validate(each) and not self.is_money(text, each)), None)
        before = text[max(0, windows[0].start - CONTEXT_CHARS) : windows[0].start]
        if self.INTERNATIONAL.search(before) and (number := self.international(windows)):
            return number
        called = self.ABOUT_PHONES.search(before)
        if not called and (self.ABOUT_OTHER_NUMBERS.search(before) or self.MONEY_BEFORE.search(before)):
            return None
        doors = (self.validate, self.possible) if called else (self.validate,)
        return next(
            (each for accept in doors for each in windows if accept(each) and not self.is_money(text, each)), None
        )

    def is_money(self, text: str, window: Window) -> bool:
        """Tell whether a currency stands after the window."""
        return self.MONEY_AFTER.match(text, window.end) is not None

    def international(self, windows: Sequence[Window], *, skip: int = 0) -> Window | None:
        """Return the window that is assigned, else the longest that has a length of its country.

        `skip` digits are dialled before the country code.
        """
        possible: Window | None = None
        for window in windows:
            digits = window.digits[skip:]
            code = next((int(digits[:size]) for size in (1, 2, 3) if int(digits[:size]) in CODES), None)
            if code is None:
                return None
            number = PhoneNumber(country_code=code, national_number=int(digits.removeprefix(str(code)) or 0))
            if not phonenumbers.is_possible_number(number):
                continue
            if phonenumbers.is_valid_number_for_region(number, CODES[code][0]):
                return window
            possible = possible or window
        return possible

    def validate(self, window: Window) -> bool:
        """Tell whether a window without `+` is assigned in one of the regions and written as numbers are."""
        if len(window.digits) < LEAST_NATIONAL_DIGITS or not _grouped_like_a_phone(window):
            return False
        if window.digits.startswith("00"):
            return self.international([window], skip=2) is not None
        return any(plan.assigns(window) for plan in self._plans)

    def possible(self, window: Window) -> bool:
        """Tell whether a window has a length that one of the regions dials."""
        dialled = (ValidationResult.IS_POSSIBLE, ValidationResult.IS_POSSIBLE_LOCAL_ONLY)
        return any(
            phonenumbers.is_possible_number_with_reason(
                PhoneNumber(country_code=plan.country_code, national_number=int(window.digits))
            )
            in dialled
            for plan in self._plans
        )


def _grouped_like_a_phone(window: Window) -> bool:
    """Tell telephone numbers from lottery numbers (pairs only), prices (thousands) and rows of a table."""
    if window.spelled_out:
        return True
    first, *others = window.sizes
    pairs = max(window.sizes) <= 2  # noqa: PLR2004 - a pair
    thousands = len(others) > 1 and set(others) == {3} and first <= 3 and window.digits[0] != "0"  # noqa: PLR2004 - 1 250 000
    return not pairs and not thousands and len(window.sizes) <= MOST_GROUPS
