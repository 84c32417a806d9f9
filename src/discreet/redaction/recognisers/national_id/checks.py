"""Check digits of national ids, one function a formula. Each takes digits (or the letters it names) without separators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from operator import mul

_VERHOEFF_PRODUCT = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_VERHOEFF_SHIFT = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip
"""Tables of Verhoeff's scheme (J. Verhoeff, Error Detecting Decimal Codes, 1969)."""


def weighted(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of the digits times their weights; digits beyond the weights don't count."""
    return sum(map(mul, map(int, digits), weights))


def is_date(year: int, month: int, day: int) -> bool:
    """Tell whether the calendar has this day."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def verhoeff(digits: str) -> bool:
    """Check Aadhaar's last digit."""
    check = 0
    for index, digit in enumerate(reversed(digits)):
        check = int(_VERHOEFF_PRODUCT[check][int(_VERHOEFF_SHIFT[index % 8][int(digit)])])
    return check == 0


def mod_11_10(digits: str) -> bool:
    """Check the last digit by ISO/IEC 7064, MOD 11,10."""
    product = 10
    for digit in digits[:-1]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(digits[-1])


def mod_11_2(code: str) -> bool:
    """Check the last character, `X` for ten, by ISO/IEC 7064, MOD 11-2, as GB 11643 (China) has it."""
    total = 0
    for digit in code[:-1]:
        total = (total + int(digit)) * 2 % 11
    return "0123456789X"[(12 - total) % 11] == code[-1].upper()


def snils(digits: str) -> bool:
    """Check the last two of the eleven digits of a Russian social insurance number."""
    return weighted(digits, range(9, 0, -1)) % 101 % 100 == int(digits[9:])


def inn(digits: str) -> bool:
    """Check the last digit of a Russian tax number of an organisation (10), the last two of a person's (12)."""
    weights = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
    places = (9,) if len(digits) == 10 else (10, 11)
    return all(weighted(digits[:at], weights[11 - at :]) % 11 % 10 == int(digits[at]) for at in places)


def my_number(digits: str) -> bool:
    """Check the last digit of a Japanese individual number (Ordinance 85 of the Ministry of Internal Affairs, 2014)."""
    rest = weighted(digits, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if rest <= 1 else 11 - rest) == int(digits[11])


def pesel(digits: str) -> bool:
    """Check the last digit of a Polish PESEL."""
    return weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def cpf(digits: str) -> bool:
    """Check the last two digits of a Brazilian CPF."""
    return len(set(digits)) > 1 and all(
        weighted(digits[:at], range(at + 1, 1, -1)) * 10 % 11 % 10 == int(digits[at]) for at in (9, 10)
    )


def taiwan(code: str) -> bool:
    """Check the last digit of a Taiwanese identity or residence number: a letter and nine more characters.

    The letter stands for two digits; old residence numbers have a second letter, of which the last digit counts.
    """
    letters = "ABCDEFGHJKLMNPQRSTUVXYWZIO"
    first = letters.index(code[0]) + 10
    second = letters.index(code[1]) % 10 if code[1].isalpha() else int(code[1])
    total = first // 10 + first % 10 * 9 + second * 8
    return (total + weighted(code[2:], (7, 6, 5, 4, 3, 2, 1, 1))) % 10 == 0


def hong_kong(code: str) -> bool:
    """Check the last character, `A` for ten, of a Hong Kong identity card: one or two letters, six digits and it."""
    values = [36, *(int(char, 36) for char in code)][-9:]  # a missing first letter counts as a space
    values[-1] = 10 if code[-1] == "A" else int(code[-1])
    return sum(value * weight for value, weight in zip(values, range(9, 0, -1), strict=True)) % 11 == 0


_SPANISH = str.maketrans("XYZ", "012")


def spanish(code: str) -> bool:
    """Check the letter of a Spanish DNI or NIE, whose first letter X, Y or Z stands for 0, 1 or 2."""
    digits = code[:-1].translate(_SPANISH)
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23] == code[-1]


def singapore(code: str) -> bool:
    """Check the letter of a Singaporean NRIC or FIN: it follows from the sum and from the series, the first letter."""
    series, digits = code[0], code[1:8]
    total = weighted(digits, (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(series, 0)
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "M": "XWUTRQPNJLK"}.get(series, "XWUTRQPNMLK")
    return letters[total % 11] == code[8]


def irish(code: str) -> bool:
    """Check the first letter, W for nothing, of an Irish PPS number; a second one counts nine times."""
    second = "WABCDEFGHI".index(code[8]) if len(code) > 8 else 0  # seven digits and a letter
    return "WABCDEFGHIJKLMNOPQRSTUV"[(weighted(code[:7], range(8, 1, -1)) + 9 * second) % 23] == code[7]


def german_pension(code: str) -> bool:
    """Check the last digit of a German pension number: the letter counts as its place, products by their digits."""
    digits = f"{code[:8]}{ord(code[8]) - 64:02}{code[9:11]}"
    products = map(mul, map(int, digits), (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1))
    return sum(sum(divmod(product, 10)) for product in products) % 10 == int(code[11])


def kazakh(digits: str) -> bool:
    """Check the last digit of a Kazakh identification number: a sum of 10 is counted again with other weights."""
    rest = weighted(digits, range(1, 12)) % 11
    if rest == 10:  # no digit
        rest = weighted(digits, (3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2)) % 11
    return rest == int(digits[11])


def korean(digits: str) -> bool:
    """Check the last digit of a South Korean resident's number given out before 2020."""
    return (11 - weighted(digits, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10 == int(digits[12])


def social_credit(code: str) -> bool:
    """Check the last character of a Chinese unified social credit code (GB 32100): powers of three, modulus 31."""
    values = [*map("0123456789ABCDEFGHJKLMNPQRTUWXY".index, code)]
    total = sum(value * pow(3, at, 31) for at, value in enumerate(values[:17]))
    return (31 - total % 31) % 31 == values[17]


def repeats_one_digit(digits: str) -> bool:
    """Tell whether, of the first ten, one digit comes twice or thrice but not thrice in a row, the others at most once.

    German tax ids are made so (Bundeszentralamt für Steuern).
    """
    first = digits[:10]
    counts = sorted((first.count(digit) for digit in set(first)), reverse=True)
    in_a_row = any(left == right for left, right in pairwise(first)) and any(digit * 3 in first for digit in set(first))
    return counts[0] in (2, 3) and counts[1] == 1 and not in_a_row
