"""Numbers that are said digit by digit: "oh nine one two …", in English, Vietnamese, Russian and Chinese."""

from __future__ import annotations

import re

from discreet.redaction.view import View

WORDS = {
    word: str(digit)
    for words in (
        "zero one two three four five six seven eight nine",
        "oh",
        "không một hai ba bốn năm sáu bảy tám chín",
        "khong mot hai ba bon nam sau bay tam chin",
        "ноль один два три четыре пять шесть семь восемь девять",
        "нуль",
    )
    for digit, word in enumerate(words.split())
} | {"tư": "4", "lăm": "5", "bẩy": "7"}
"""Digit words of languages that write them apart. "Năm" is a year too and "ba" a father; seven in a row are digits."""

REPEATS = {"double": 2, "triple": 3}

_WORD = "|".join(sorted(map(re.escape, [*WORDS, *REPEATS]), key=len, reverse=True))

NUMBER = re.compile(
    rf"(?<![^\W_])(?:(?:{_WORD})(?:[ \n]{{1,2}}|[,.-] {{0,2}})){{4,40}}(?:{_WORD})(?![^\W_])", re.IGNORECASE
)
LEAST_DIGITS = 7
"""As many as the shortest telephone number that counts."""
LEAST_WORDS = 3
"""With "double" and "triple". Counting words costs a tenth of looking for a number."""
SEPARATOR = re.compile("[,.-]")


HAN_DIGITS = dict(zip("零〇○一二三四五六七八九壹貳參肆伍陸柒捌玖贰叁陆幺", "0001234567891234567892361", strict=True))
HAN_NUMBER = re.compile(
    "(?<![{0}])(?:[{0}][ .・·-]{{0,2}}){{6,40}}[{0}](?![{0}])".format("".join(HAN_DIGITS)),
)
"""Seven digits or more in Han characters, said one by one; numbers in prose and years have fewer."""


def with_spoken_digits(view: View) -> View:
    """Return the view with numbers that are said digit by digit in digits."""
    text = view.text
    if sum(map(WORDS.__contains__, SEPARATOR.sub(" ", view.lowered).split())) >= LEAST_WORDS:
        view = view.replaced(NUMBER, _digits)
    if not text.isascii() and HAN_NUMBER.search(view.text):
        view = view.replaced(HAN_NUMBER, lambda match: "".join(HAN_DIGITS.get(char, char) for char in match[0]))
    return view


def _digits(match: re.Match[str]) -> str:
    digits: list[str] = []
    repeat = 1
    for word in re.findall(r"\w+", match[0].lower()):
        if word in REPEATS:
            repeat = REPEATS[word]
            continue
        digits += [WORDS[word]] * repeat
        repeat = 1
    return "".join(digits) if len(digits) >= LEAST_DIGITS else match[0]
