"""Values for sentences that leave a place for them, made at run time and with the check digits that they need."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from string import ascii_lowercase, ascii_uppercase, digits

import phonenumbers

ABROAD = 0.3
"""Share of telephone numbers that are written with their country."""
SLOT = re.compile(r"\{\{|\}\}|\{(?P<name>[a-z0-9_]+)(?::(?P<first>[0-9]+))?(?::(?P<last>[0-9]+))?\}")
"""`{name}`, `{name:5}`, `{name:1:9}`, or a brace that is doubled to mean itself."""

WORDS = (
    *(
        "sunshine",
        "monkey",
        "dragon",
        "summer",
        "football",
        "princess",
        "shadow",
        "winter",
        "flower",
        "tiger",
        "orange",
    ),
    *("banana", "silver", "coffee", "rocket", "purple", "guitar", "castle", "marble", "window", "hammer", "planet"),
    *("ocean", "forest", "mirror", "pepper", "ginger", "cookie", "thunder", "lantern", "butter", "velvet", "copper"),
)
REGIONS = {
    "en": "US",
    "vi": "VN",
    "ru": "RU",
    "zh": "CN",
    "ar": "SA",
    "de": "DE",
    "es": "ES",
    "fr": "FR",
    "hi": "IN",
    "id": "ID",
    "it": "IT",
    "ja": "JP",
    "ko": "KR",
    "nl": "NL",
    "pl": "PL",
    "pt": "BR",
    "th": "TH",
    "tr": "TR",
    "uk": "GB",
}
IBANS = {
    "de": "DE",
    "es": "ES",
    "fr": "FR",
    "it": "IT",
    "nl": "NL",
    "pl": "PL",
    "pt": "PT",
    "tr": "TR",
    "ar": "SA",
    "en": "GB",
}
BBANS = {
    "DE": "d18",
    "ES": "d20",
    "FR": "d23",
    "IT": "U1d22",
    "NL": "U4d10",
    "PL": "d24",
    "PT": "d21",
    "TR": "d22",
    "SA": "d20",
    "GB": "U4d14",
}
"""What follows the country and the check digits (https://www.swift.com/standards/data-standards/iban)."""
DATES = {
    "en": "%m/%d/%Y",
    "vi": "%d/%m/%Y",
    "ru": "%d.%m.%Y",
    "de": "%d.%m.%Y",
    "zh": "%Y年%m月%d日",
    "ja": "%Y年%m月%d日",
}
DATES |= {"ko": "%Y년 %m월 %d일", "nl": "%d-%m-%Y", "pl": "%d.%m.%Y", "tr": "%d.%m.%Y"}
NAMES = {
    "en": (("Emily", "James", "Olivia"), ("Carter", "Hughes", "Bennett")),
    "vi": (("Lan", "Minh", "Hương"), ("Nguyễn", "Trần", "Phạm")),
    "ru": (("Анна", "Иван", "Ольга"), ("Смирнова", "Петров", "Волкова")),
    "zh": (("伟", "芳", "娜"), ("王", "李", "陈")),
    "de": (("Anna", "Lukas", "Heike"), ("Schneider", "Vogel", "Krause")),
    "es": (("Lucía", "Javier", "Marta"), ("García", "Romero", "Navarro")),
    "fr": (("Camille", "Julien", "Claire"), ("Moreau", "Lefèvre", "Girard")),
    "it": (("Giulia", "Marco", "Elena"), ("Ricci", "Ferrari", "Gallo")),
    "pt": (("Ana", "João", "Beatriz"), ("Silva", "Pereira", "Costa")),
    "nl": (("Sanne", "Daan", "Femke"), ("Jansen", "Bakker", "Visser")),
    "pl": (("Anna", "Piotr", "Zofia"), ("Kowalska", "Nowak", "Wójcik")),
    "tr": (("Ayşe", "Mehmet", "Elif"), ("Yılmaz", "Demir", "Kaya")),
    "id": (("Siti", "Budi", "Dewi"), ("Santoso", "Wijaya", "Lestari")),
    "ar": (("سارة", "أحمد", "ليلى"), ("حداد", "منصور", "خوري")),
    "hi": (("अनीता", "राहुल", "प्रिया"), ("शर्मा", "वर्मा", "गुप्ता")),
    "ja": (("花子", "健太", "美咲"), ("佐藤", "鈴木", "高橋")),
    "ko": (("민지", "서준", "지우"), ("김", "박", "최")),
    "th": (("สมชาย", "มาลี", "กานดา"), ("ใจดี", "ศรีสุข", "ทองดี")),
}


def filled(text: str, language: str, rng: random.Random) -> str:
    """Return `text` with a new value for each of its slots."""

    def value(match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0][0]
        given = [int(each) for each in (match["first"], match["last"]) if each]
        return MAKERS[match["name"]](rng, language, *given)

    return SLOT.sub(value, text)


def luhn(number: str) -> str:
    """Return the check digit of ISO/IEC 7812-1, annex B."""
    doubled = (int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(number)))
    return str(-sum(each // 10 + each % 10 for each in doubled) % 10)


def _some(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(rng.choices(alphabet, k=count))


def _password(rng: random.Random, _: str) -> str:
    word = rng.choice(WORDS)
    return rng.choice(
        (
            lambda: f"{word.title()}{rng.randint(10, 9999)}{rng.choice('!@#$%*?')}",
            lambda: _some(rng, ascii_lowercase, 2) + rng.choice(ascii_uppercase) + rng.choice(digits) + "#" + _some(rng, ascii_lowercase + digits, 5),
            lambda: f"{word}_{rng.choice(WORDS).title()}{rng.randint(1, 99)}",
        )
    )()  # fmt: skip


def _card(rng: random.Random, _: str) -> str:
    number = rng.choice(("4", "51", "55")) + _some(rng, digits, 14)
    number = number[:15]
    number += luhn(number)
    return " ".join(number[place : place + 4] for place in range(0, 16, 4))


def _iban(rng: random.Random, language: str) -> str:
    country = IBANS.get(language, "DE")
    parts = re.findall(r"([dU])([0-9]+)", BBANS[country])
    account = "".join(_some(rng, digits if kind == "d" else ascii_uppercase, int(count)) for kind, count in parts)
    number = int("".join(str(int(char, 36)) for char in account + country + "00"))
    return f"{country}{98 - number % 97:02}{account}"


def _phone(rng: random.Random, language: str) -> str:
    region = REGIONS.get(language, "US")
    example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    for _ in range(50):
        national = str(example.national_number)
        number = phonenumbers.PhoneNumber(
            country_code=example.country_code, national_number=int(national[:-6] + _some(rng, digits, 6))
        )
        if phonenumbers.is_valid_number(number):
            break
    form = (
        phonenumbers.PhoneNumberFormat.INTERNATIONAL
        if rng.random() < ABROAD
        else phonenumbers.PhoneNumberFormat.NATIONAL
    )
    return phonenumbers.format_number(number, form)


def _vin(rng: random.Random, _: str) -> str:
    """Return a vehicle's number with its check digit (49 CFR 565.15)."""
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    number = (
        rng.choice(("1HG", "WVW", "JTD", "KMH", "5YJ"))
        + _some(rng, letters + digits, 5)
        + "0"
        + _some(rng, letters + digits, 3)
        + _some(rng, digits, 5)
    )
    values = dict(zip(letters, (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    total = sum(
        (values.get(char) or int(char)) * weight if not char.isdigit() else int(char) * weight
        for char, weight in zip(number, weights, strict=True)
    )
    return number[:8] + "0123456789X"[total % 11] + number[9:]


def _imei(rng: random.Random, _: str) -> str:
    number = "35" + _some(rng, digits, 12)
    return number + luhn(number)


def _snils(rng: random.Random, _: str) -> str:
    number = str(rng.randint(2_000_000, 999_999_999)).zfill(9)
    total = sum(int(digit) * (9 - place) for place, digit in enumerate(number)) % 101 % 100
    return f"{number[:3]}-{number[3:6]}-{number[6:]} {total:02}"


def _cccd(rng: random.Random, _: str) -> str:
    return f"0{rng.choice(('01', '79', '31', '48', '92'))}{rng.choice('0123')}{rng.randint(0, 99):02}{rng.randint(0, 999_999):06}"


def _date(rng: random.Random, language: str) -> str:
    day = date(1950, 1, 1) + timedelta(days=rng.randint(0, 20_000))
    return day.strftime(DATES.get(language, "%d/%m/%Y"))


def _separated(rng: random.Random, sign: str) -> str:
    return sign.join(_some(rng, "0123456789abcdef", 2) for _ in range(6))


MAKERS: Mapping[str, Callable[..., str]] = {
    "password": _password,
    "weak": lambda rng, _: f"{rng.choice(WORDS)}{rng.randint(10, 9999)}",
    "word": lambda rng, _: rng.choice(WORDS),
    "passphrase": lambda rng, _: "-".join(rng.sample(WORDS, rng.choice((3, 4)))),
    "pin": lambda rng, _: f"{rng.randint(0, 9999):04}",
    "code": lambda rng, _: f"{rng.randint(0, 999_999):06}",
    "split": lambda rng, _: f"{rng.randint(100, 999)}{rng.choice(' -')}{rng.randint(100, 999)}",
    "code8": lambda rng, _: rng.choice(ascii_uppercase) + _some(rng, ascii_uppercase + digits, 6) + rng.choice(digits),
    "token": lambda rng, _: _some(rng, ascii_lowercase + ascii_uppercase + digits, 32),
    "hex": lambda rng, _: _some(rng, "0123456789abcdef", 40),
    "b64": lambda rng, _: base64.b64encode(rng.randbytes(33)).decode(),
    "email": lambda rng, _: f"{rng.choice(('anna', 'lee.k', 'j.ward', 'minh.tran'))}{rng.randint(1, 99)}@{_domain(rng)}",
    "user": lambda rng, _: f"{rng.choice(('anna', 'lee.k', 'jward', 'minhtran'))}{rng.randint(1, 99)}",
    "domain": lambda rng, _: _domain(rng),
    "phone": _phone,
    "card": _card,
    "card_plain": lambda rng, language: _card(rng, language).replace(" ", ""),
    "iban": _iban,
    "ip": lambda rng, _: f"{rng.choice((81, 93, 178, 203))}.{rng.randint(1, 254)}.{rng.randint(1, 254)}.{rng.randint(1, 254)}",
    "digits": lambda rng, _, count: rng.choice("123456789") + _some(rng, digits, count - 1),
    "number": lambda rng, _, first, last: str(rng.randint(first, last)),
    "letters": lambda rng, _, count: _some(rng, ascii_uppercase, count),
    "hexpair": lambda rng, _: _some(rng, "0123456789abcdef", 2),
    "mac": lambda rng, _: _separated(rng, rng.choice(":-")),
    "vin": _vin,
    "imei": _imei,
    "ssn": lambda rng, _: f"{rng.randint(100, 665)}-{rng.randint(10, 99)}-{rng.randint(1000, 9999)}",
    "snils": _snils,
    "cccd": _cccd,
    "date": _date,
    "first": lambda rng, language: rng.choice(NAMES.get(language, NAMES["en"])[0]),
    "last": lambda rng, language: rng.choice(NAMES.get(language, NAMES["en"])[1]),
}  # fmt: skip


def _domain(rng: random.Random) -> str:
    return rng.choice(("example.com", "mail.example.org", "example.net", "posteo.example", "gmail.com"))
