"""Telephone numbers in international and national form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE as CODES
from phonenumbers import PhoneNumber, ValidationResult

from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.digits import Window, digits_of, last_digit, scan
from discreet.redaction.recognisers.introductions import Introductions
from discreet.redaction.recognisers.phone_plans import Plan

MOST_DIALLED_GROUPS = 8
"""With country code and trunk prefix: `+33 (0)6 12 34 56 78`."""

DEFAULT_REGIONS = ("US", "GB", "VN", "RU", "TW", "CN", "DE", "FR", "ES", "JP", "KR", "IN")
"""Regions whose national formats are known without a country code (ISO 3166-1)."""

CONTEXT_CHARS = 40
"""How far before a number words count."""

LEAST_NATIONAL_DIGITS = 9
"""Shorter ones need `+` or a word: too many other numbers have eight digits, dates among them."""

COUNTS = frozenset(("2147483647", "2147483648", "4294967295", "4294967296"))
"""The most that programs count to in 31 and 32 bits."""
MOST_ZEROS = 0.6
"""Share of them in a number; more are in what a computer counts."""
MOST_GROUPS = 6
"""`+1 (0) 12 34 56 78` is as finely divided as numbers get, unless digit by digit."""


class PhoneRecogniser:
    """Finds digit groups that read as a telephone number; `phonenumbers` decides, and never scans.

    Three doors: `+` or `00` and a country code; the national form of one of `regions`, unless a word such as "order"
    stands before it or it is grouped like a price; and any possible number after a word such as "phone".
    """

    type = "PHONE"
    LEAST_DIGITS = 6

    INTERNATIONAL = re.compile(r"\+[ (]{0,2}\Z")
    OPENING = re.compile(r"(?:\+ ?)?\(?\Z")
    EXTENSION = re.compile(
        r"[ ,–-]{0,3}(?P<open>\(?)(?:#|x|ext\.?|extension|доб\.?|добавочный|máy lẻ|nhánh|轉|转|分機|分机|內線|内线)[ :.]{0,2}"
        r"[0-9]{1,6}(?![0-9])(?(open)\)?)",
        re.IGNORECASE,
    )

    ABOUT_PHONES = re.compile(
        r"(?:(?<![a-z])(?:(?:tele|cell)?phones?|tel|mobile|cell|fax|hotline|phone no|call|calling|ring|dial|reach (?:me|us|him|her|them)"
        r"|whatsapp|viber|zalo|sms)(?![a-z])"
        r"|answering at|(?:texts?|messages?) (?:to|me|us|him|her|them)|registered"
        r"|điện thoại|dien thoai|tổng đài|zalo|momo|alo|số máy|sđt|sdt|đt|gọi|liên hệ|di động|hotline"
        r"|телефон|тел\.|звон|моб\.|номер телефона|сотов|позвони|набери|вотсап|ватсап"
        r"|電話|电话|手機|手机|致電|致电|請打|请打|傳真|传真|撥打|拨打|聯絡|联系"
        r"|телефону|бригадир|факс|моб(?![а-я])|微信同號|微信同号|打給|打给|新號|新号|找我|回電|回电"
        r"|(?<![a-z])(?:whats|wpp|zap|cellulare|telefono|telefoon|telefone|celular|hp|wa|rufnummer|mobil"
        r"|mobiel|chiama(?:mi|re|teci)|contatto|conta[ck]?to|liga[r]?|ligue|llám?a(?:me|r|nos)|llame|marca"
        r"|appelle[rz]?|rappelle[rz]?|joindre|erreichbar|durchwahl|bel|bellen|zadzwoń|dzwoń|numer|numaram"
        r"|numarası|arayın|hubungi|telepon|telpon"
        r"|rückruf|numer telefonu|num|nummer|komórka|numara)(?![a-z])"
        r"|โทร|เบอร์|携帯|핸드폰|휴대폰|폰번호|फोन|फ़ोन|मोबाइल|هاتف|جوال|موبايل|رقمي"
        r"|telefon|téléphone|(?<![a-z])tél(?![a-z])|numéro|portable|teléfono|móvil|handy|전화|연락처)\.?[^0-9.!?。！？]{0,24}\Z",
        re.IGNORECASE,
    )
    """Words after which a number of any plausible length is one to call."""

    ABOUT_OTHER_NUMBERS = re.compile(
        r"(?:(?<![a-z])(?:order|invoice|tracking|ticket|reference|ref|isbn|ean|upc|sku|serial|part|case|build|commit|id)"
        r"|đơn hàng|mã đơn|hóa đơn|заказа?|счёта?|инн|гост|commande|zamówieni[ae]|bestell|bestelnummer"
        r"|pedido|ordine|pesanan|sipariş|артикул|article|artikel|条形码|条码|訂單|订单|單號|单号|編號|编号)"
        r"(?: ?(?:number|no\.?|nr\.?|số|номер|id|編號|编号|號碼|号码))?[ :#№=是為为-]{0,4}\Z"
        r"|[a-z]-\Z",
        re.IGNORECASE,
    )
    """Words after which a number is not one to call, if it has neither `+` nor a word of the other kind. Letters and a
    hyphen begin a product code."""

    ABOUT_PHONES_AFTER = re.compile(
        r"[ ]{0,2}[-(]?[ ]?(?:office|mobile|cell|fax|home|desk|direct|work)(?![a-z])", re.IGNORECASE
    )
    """Words that follow the number on a business card."""

    MONEY_BEFORE = re.compile(r"[$€£¥₫₽][ ]?\Z")
    MONEY_AFTER = re.compile(
        r"[ ]?(?:[$€£¥₫₽%]|đ(?![^\W\d_])|đồng|vnd|usd|eur|руб(?:л|\.|(?![^\W\d_]))|元(?![旦宵月])|円|塊|tỷ|triệu)",
        re.IGNORECASE,
    )

    DIVIDED = re.compile(r"(?<![0-9])[+(]{0,2}[0-9](?:[ .()/*·•_|–—-]{0,5}[0-9]){8,13}(?![0-9])")
    """Digits with anything between them, which only a word makes a number."""
    ODDLY = re.compile(r"[0-9][ )]{0,2}(?:[*·•_|–—/]|\.\.)|(?:[0-9][ .-]){4}")
    """Divided as no number should be."""

    def __init__(self, *, regions: Sequence[str] = DEFAULT_REGIONS) -> None:
        self._plans = tuple(map(Plan.of, regions))
        self._written = re.compile("|".join(["00", *(plan.written.pattern for plan in self._plans)]))
        """What no number without `+` fails, at a tenth of the cost of asking each plan."""

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all numbers, with `+`, parentheses and extension."""
        digits = view.derived(digits_of)
        search = _Search(self, digits.text)
        for window in scan(
            digits, least=7, most=15, most_groups=MOST_DIALLED_GROUPS, may=search.may, choose=search.choose
        ):
            search.words.take(window, introduced=search.is_called)
            extension = self.EXTENSION.match(digits.text, window.end)
            yield self.opening(digits.text, window), extension.end() if extension else window.end
        if self.ODDLY.search(digits.text):
            yield from (match.span() for match in self.DIVIDED.finditer(digits.text) if self.is_oddly_told(match))

    def is_oddly_told(self, match: re.Match[str]) -> bool:
        """Tell whether digits that are divided as no number should be stand behind a word that introduces them."""
        if not self.ODDLY.search(match[0]):
            return False
        before = match.string[max(0, match.start() - CONTEXT_CHARS) : match.start()]
        return self.ABOUT_PHONES.search(before[last_digit(before) + 1 :]) is not None

    def may_begin(self, digits: str) -> bool:
        """Tell whether digits begin like a number without `+` of one of the regions."""
        return self._written.match(digits) is not None

    def opening(self, text: str, window: Window) -> int:
        """Return where the number begins: at its `+`, or at a parenthesis that is closed within it."""
        signs = self.OPENING.search(text[max(0, window.start - 3) : window.start])
        closed = ")" in text[window.start : window.end]
        return window.start - len(signs[0] if closed else signs[0].rstrip("(")) if signs else window.start

    def is_international(self, text: str, before: str, window: Window) -> bool:
        """Tell whether a country code begins the number: after `+`, or alone in parentheses."""
        if self.INTERNATIONAL.search(before) is not None:
            return True
        size = window.sizes[0]
        alone = before.endswith("(") and text[window.start + size : window.start + size + 1] == ")"
        return alone and int(window.digits[:size]) in CODES and size > 1

    def is_money(self, text: str, window: Window) -> bool:
        """Tell whether a currency stands after the window."""
        return self.MONEY_AFTER.match(text, window.end) is not None

    def international(self, windows: Iterable[Window], *, skip: int = 0) -> Window | None:
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
        if len(window.digits) < LEAST_NATIONAL_DIGITS or (len(window.sizes) > MOST_GROUPS and not window.spelled_out):
            return False
        if window.digits.count("0") > MOST_ZEROS * len(window.digits):
            return False
        if not self._written.match(window.digits) or window.crowd == "." or _goes_on_to_another(window):
            return False
        if window.digits in COUNTS:
            return False
        if window.digits.startswith("00"):
            return self.international([window], skip=2) is not None
        return any(plan.assigns(window) for plan in self._plans)

    def possible(self, window: Window) -> bool:
        """Tell whether a window has a length that one of the regions dials."""
        if (len(window.sizes) > MOST_GROUPS and not window.spelled_out) or _goes_on_to_another(window):
            return False
        dialled = (ValidationResult.IS_POSSIBLE, ValidationResult.IS_POSSIBLE_LOCAL_ONLY)
        return any(
            phonenumbers.is_possible_number_with_reason(
                PhoneNumber(country_code=plan.country_code, national_number=int(window.digits))
            )
            in dialled
            for plan in self._plans
        )


def _goes_on_to_another(window: Window) -> bool:
    """Tell whether a group begins with 0 behind as many digits as a number has: `085 902 1067 020`."""
    done = 0
    for size in window.sizes:
        if done >= LEAST_NATIONAL_DIGITS and size > 2 and window.digits[done] == "0":  # `8 912 969 84 00`
            return True
        done += size
    return False


class _Search:
    """One search of one text."""

    def __init__(self, recogniser: PhoneRecogniser, text: str) -> None:
        self._recogniser = recogniser
        self._text = text
        self._validated: dict[tuple[str, tuple[int, ...]], bool] = {}
        """Digits and their groups -> whether they are a number: tables repeat themselves."""
        self._barren: set[tuple[str, tuple[int, ...]]] = set()
        """Digits and groups that no number begins with."""
        self._asked: tuple[str, tuple[int, ...]] = "", ()
        self.words = Introductions(text, recogniser.ABOUT_PHONES, chars=CONTEXT_CHARS)
        self.is_called = False
        """Whether a word introduces the number that was asked about last."""

    def may(self, digits: str, sizes: tuple[int, ...]) -> bool:
        """Tell whether a number may begin where other digits stand right before."""
        self._asked = digits, sizes
        return self._asked not in self._barren and self._recogniser.may_begin(digits)

    def choose(self, windows: Iterable[Window]) -> Window | None:
        """Return the window that is a number, of those that begin at one place."""
        found = list(windows)
        self.is_called = False
        if not found:
            return None
        first, rules = found[0], self._recogniser
        if not first.leading:
            number = self._first(found, self._validate)
            if number is None and not any(map(self._validate, found)):
                self._barren.add(self._asked)
            return number
        before = self._text[max(0, first.start - CONTEXT_CHARS) : first.start]
        lead = self.words.lead(first)
        if rules.is_international(self._text, before, first) and (number := rules.international(found)):
            return number
        other = lead and rules.ABOUT_OTHER_NUMBERS.search(lead)
        self.is_called = not other and (
            self.words.introduce(first) or rules.ABOUT_PHONES_AFTER.match(self._text, first.end) is not None
        )
        if other or (lead and not self.is_called and rules.MONEY_BEFORE.search(lead)):
            return None
        return self._first(found, self._validate) or (self._first(found, rules.possible) if self.is_called else None)

    def _first(self, windows: Sequence[Window], door: Callable[[Window], bool]) -> Window | None:
        """Return the first window on one line that passes a door and is no sum of money."""
        return next(
            (
                each
                for each in windows
                if not each.lines
                and (self.is_called or "  " not in self._text[each.start : each.end])
                and door(each)
                and not self._recogniser.is_money(self._text, each)
            ),
            None,
        )

    def _validate(self, window: Window) -> bool:
        key = (window.digits, window.sizes)
        if key not in self._validated:
            self._validated[key] = self._recogniser.validate(window)
        return self._validated[key]
