"""Make sensitive values of every type, each of them once: the serial number decides what is unique in it."""

from __future__ import annotations

import binascii
import json
import random
import string
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

SPREAD = 2_862_933_555_777_941_757
"""Coprime to 10, so that multiplying by it sends the serial numbers below a power of ten to that many different numbers."""

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "juniper", "kestrel", "linden")
LETTERS = string.ascii_letters + string.digits
SYLLABLES = ("ba", "do", "fe", "gi", "ku", "la", "mo", "ne", "pi", "ro")


@dataclass(frozen=True)
class Chance:
    """Where one value is taken from: a serial number that no other value has, and chance for the rest."""

    serial: int
    random: random.Random

    def number(self, below: int) -> int:
        """Return a number that no other serial number below `below` has; `below` is a product of twos and fives."""
        return self.serial * SPREAD % below

    def digits(self, count: int) -> str:
        """Return `count` digits, the last seven of them unique."""
        unique = f"{self.number(10**7):07d}"
        return "".join(self.random.choices("123456789", k=count - 7)) + unique

    def letters(self, count: int, alphabet: str = LETTERS) -> str:
        """Return `count` characters; they are unique by their number alone, so `count` is 16 or more."""
        return "".join(self.random.choices(alphabet, k=count))

    def word(self) -> str:
        """Return a word of letters alone that no other value has."""
        return "".join(SYLLABLES[int(digit)] for digit in self.digits(7))


def email(chance: Chance) -> str:
    """Return an address at a domain that nobody can own."""
    return f"{chance.random.choice(WORDS)}.{chance.word()}@{chance.random.choice(WORDS)}.example.com"


def phone(chance: Chance) -> str:
    """Return a mobile number of Vietnam, Russia or China, with its country code."""
    number = chance.digits(7)
    return chance.random.choice(
        (
            f"+84 91 {number[:3]} {number[3:]}",
            f"+7 916 {number[:3]}-{number[3:5]}-{number[5:]}",
            f"+86 138 {chance.random.randrange(1, 10)}{number[:3]} {number[3:]}",
        )
    )


def with_check_digit(body: str) -> str:
    """Return 15 digits with the one that checks them (ISO/IEC 7812-1, Luhn)."""
    total = sum(sum(divmod(int(digit) * (2 if place % 2 == 0 else 1), 10)) for place, digit in enumerate(body))
    return body + str(-total % 10)


def iban_of(account: str) -> str:
    """Return a German account of 18 digits with its check digits (ISO 13616, modulo 97)."""
    return f"DE{98 - int(account + '131400') % 97:02d}{account}"


def card(chance: Chance) -> str:
    """Return a card number with its check digit."""
    number = with_check_digit("4539" + chance.digits(11))
    return " ".join(number[at : at + 4] for at in range(0, 16, 4)) if chance.serial % 2 else number


def iban(chance: Chance) -> str:
    """Return a German account with its check digits."""
    return iban_of(chance.digits(18))


NETWORKS = (41, 62, 88, 91, 103, 151)


def ip(chance: Chance) -> str:
    """Return a public IPv4 address that can't be read as a version; none is the beginning of another."""
    number = chance.number(10**7)
    network = NETWORKS[2 * (number // 4_000_000) + chance.random.randrange(2)]
    return f"{network}.{17 + number // 20_000 % 200}.{17 + number // 100 % 200}.{100 + number % 100}"


def social_security_number(chance: Chance) -> str:
    """Return a number of the United States, of an area that is in use."""
    number = chance.number(10**7)
    return f"{300 + number // 810_000}-{10 + number % 90}-{1000 + number // 90 % 9000}"


def citizen_number(chance: Chance) -> str:
    """Return a number of Vietnam: province, century and sex, year of birth, six digits."""
    number = chance.number(10**7)
    return f"079{chance.random.choice('01')}{60 + number % 40}{number // 40:06d}"


def insurance_number(chance: Chance) -> str:
    """Return a SNILS of Russia with its check number."""
    digits = f"1{chance.random.choice('123456789')}{chance.number(10**7):07d}"
    check = sum(int(digit) * (9 - place) for place, digit in enumerate(digits)) % 101 % 100
    return f"{digits[:3]}-{digits[3:6]}-{digits[6:]} {check:02d}"


def resident_number(chance: Chance) -> str:
    """Return a number of China with its check character (GB 11643-1999)."""
    number = chance.number(10**7)
    born = date(1960, 1, 1) + timedelta(days=number // 1000)
    body = f"110105{born:%Y%m%d}{number % 1000:03d}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return body + "10X98765432"[sum(int(digit) * weight for digit, weight in zip(body, weights, strict=True)) % 11]


def _hub_token(chance: Chance) -> str:
    """Return a token of GitHub: its last six characters are a checksum in base 62."""
    body = chance.letters(30)
    left, check = binascii.crc32(body.encode()), ""
    alphabet = string.digits + string.ascii_uppercase + string.ascii_lowercase
    while len(check) < 6:
        left, rest = divmod(left, 62)
        check = alphabet[rest] + check
    return "ghp" + "_" + body + check


def _web_token(chance: Chance) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": str(chance.serial), "jti": chance.letters(16)})
    signed = [urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*signed, chance.letters(43)])


VENDORS: Mapping[str, Callable[[Chance], str]] = {
    "openai": lambda chance: "-".join(("sk", "proj", chance.letters(48))),
    "anthropic": lambda chance: "-".join(("sk", "ant", "api03", chance.letters(93) + "AA")),
    "aws": lambda chance: "AK" + "IA" + chance.letters(16, string.ascii_uppercase + "234567"),
    "github": _hub_token,
    "gitlab": lambda chance: "glpat" + "-" + chance.letters(20),
    "slack": lambda chance: "-".join(("xoxb", chance.digits(12), chance.digits(12), chance.letters(24))),
    "stripe": lambda chance: "_".join(("sk", "live", chance.letters(24))),
    "google": lambda chance: "AI" + "za" + chance.letters(35),
    "huggingface": lambda chance: "hf" + "_" + chance.letters(34, string.ascii_letters),
    "sendgrid": lambda chance: ".".join(("SG", chance.letters(22), chance.letters(43))),
    "jwt": _web_token,
}


def secret(chance: Chance) -> str:
    """Return a key or token in the form of some vendor's."""
    return VENDORS[chance.random.choice(list(VENDORS))](chance)


def password(chance: Chance) -> str:
    """Return a password, which only the words before it tell."""
    return f"{chance.word().title()}{chance.random.choice('!#%&*')}{chance.number(10**4):04d}"


def internal_id(chance: Chance) -> str:
    """Return the number of a customer."""
    return f"CUST-{chance.digits(9)}"


def url(chance: Chance) -> str:
    """Return a link that lets in whoever has it."""
    ident = UUID(int=chance.random.getrandbits(128), version=4)
    return f"https://{chance.random.choice(WORDS)}.example.com/s/{ident}"


STREETS = ("Maple", "Walnut", "Chestnut", "Willow", "Magnolia")
VIETNAMESE = ("Lê Lợi", "Nguyễn Huệ", "Trần Hưng Đạo", "Hai Bà Trưng", "Lý Thường Kiệt")
RUSSIAN = ("Ленина", "Гагарина", "Садовая", "Пушкина", "Мира")
CHINESE = ("建国路", "中山路", "人民路", "解放路", "长安街")


def _house(chance: Chance, names: tuple[str, ...]) -> tuple[str, int, int]:
    """Return a street, a house number and a flat that no other value has together, both of four digits."""
    number = chance.number(10**7)
    return names[number % 5], 1000 + number // 5 % 1000, 1000 + number // 5000


def english_address(chance: Chance) -> str:
    """Return an address of the United States."""
    street, house, flat = _house(chance, STREETS)
    return f"{house} {street} Street, Apt {flat}, Springfield, IL 62704"


def vietnamese_address(chance: Chance) -> str:
    """Return an address of Ho Chi Minh City."""
    street, house, flat = _house(chance, VIETNAMESE)
    return f"số {flat}/{house} đường {street}, phường Bến Nghé, quận 1, TP. Hồ Chí Minh"


def russian_address(chance: Chance) -> str:
    """Return an address of Moscow."""
    street, house, flat = _house(chance, RUSSIAN)
    return f"г. Москва, ул. {street}, д. {house}, кв. {flat}"


def chinese_address(chance: Chance) -> str:
    """Return an address of Beijing."""
    street, house, flat = _house(chance, CHINESE)
    return f"北京市朝阳区{street}{house}号{flat}室"
