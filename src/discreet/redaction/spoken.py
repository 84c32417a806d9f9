"""Numbers that are said: "oh nine one two …", "six twelve, forty-five", in the languages of `discreet.redaction.words`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import View
from discreet.redaction.word_set import WORD, word_set
from discreet.redaction.words import any_of, languages, words

LEAST_DIGITS = 4
"""As many as the shortest code that counts."""
LEAST_WORDS = 2
"""Words of numbers side by side in such a text. Counting words costs a tenth of looking for a number."""
COUNTED = ("12345678", "012345678", "987654321")
"""Somebody counts."""
BETWEEN = frozenset(("und", "y", "et", "e", "i"))
MOST_PLAIN = 3
"""Numbers that stand one beside the other in prose."""

HAN_DIGITS = dict(zip("零〇○一二三四五六七八九壹貳參肆伍陸柒捌玖贰叁陆幺", "0001234567891234567892361", strict=True))
HAN_NUMBER = re.compile(
    "(?<![{0}])(?:[{0}][ .・·-]{{0,2}}){{5,40}}[{0}](?![{0}])|(?<=[码碼是為为:：])(?:[{0}] ?){{3,5}}[{0}](?![{0}十百千万萬])".format(
        "".join(HAN_DIGITS)
    ),
)
"""Six digits or more in Han characters, said one by one, or four behind a word for a code; numbers in prose and years have fewer."""


OTHER_WORDS = frozenset(("on", "o", "i", "y", "e", "un", "ein", "sei", "die", "a", "no", "once", "se"))
"""Words of numbers that are much else in another language."""


SEVERAL_HAN_DIGITS = re.compile("[{0}][ .・·-]{{0,2}}[{0}][ .・·-]{{0,2}}[{0}]".format("".join(HAN_DIGITS)))


SHORT_FORMS = {"eins": "ein", "uno": "un"}
"""How a digit is said within a number."""


class Spoken(NamedTuple):
    """What is needed to read numbers in words."""

    digits: dict[str, str]
    """Words, without spaces and hyphens, for what they are in digits."""
    hundreds: dict[str, int]
    repeats: dict[str, int]
    heads: frozenset[str]
    """First words of them all."""
    number: re.Pattern[str]
    """Several in a row, for text in small letters."""
    one: re.Pattern[str]


@cache
def spoken() -> Spoken:
    """Return the words of all languages that put spaces between them."""
    digits: dict[str, str] = {}
    hundreds: dict[str, int] = {}
    repeats: dict[str, int] = {}
    for language in languages():
        if language.spaced:
            for word, value in _numbers(language.tables["spelled"]):
                digits.setdefault(word, value)
            hundreds.update({word: 100 * place for place, word in enumerate(language.words("spelled", "hundreds"), 1)})
            repeats.update(
                {
                    word: int(count)
                    for word, _, count in (each.partition("=") for each in language.words("spelled", "repeats"))
                }
            )
    names = (
        any_of(sorted([*digits, *hundreds, *repeats], key=len, reverse=True))
        .replace("\\ ", "[ -]")
        .replace("\\-", "[ -]")
    )
    return Spoken(
        {_bare(word): value for word, value in digits.items()},
        hundreds,
        repeats,
        frozenset(found[0] for name in (*digits, *hundreds, *repeats) if (found := WORD.match(name))),
        lazy(
            rf"(?<![^\W_]){names}(?:(?:[ \n]{{1,2}}|[,.;-] {{0,2}}|,? und | y | et | e | i ){names}){{1,40}}(?![^\W_])",
            re.IGNORECASE,
        ),
        lazy(rf"{names}(?![^\W_])"),
    )


def _bare(word: str) -> str:
    return word.replace(" ", "").replace("-", "")


def _numbers(table: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Yield all words of one language for numbers below a hundred, with their digits."""
    yield from zip(table["digits"], "0123456789", strict=True)
    listed = [each.partition("=") for each in table.get("numbers", ())]
    yield from ((word, str(number)) for number, word in enumerate((word for word, sign, _ in listed if not sign), 10))
    also = (each.partition("=") for each in table.get("also", ()))
    yield from ((word, number) for word, sign, number in (*also, *listed) if sign)
    for ten, word in enumerate(table.get("tens", ()), 2):
        yield word, f"{ten}0"
        yield from _with_ten(table, word, ten)


def _with_ten(table: Mapping[str, tuple[str, ...]], word: str, ten: int) -> Iterator[tuple[str, str]]:
    """Yield the numbers that a word for a ten makes with the digits behind it, or before it as in German."""
    pattern = table["joined"][0].replace("[ -]", "-").replace("(?:en|ën)", "en")
    for number, digit in list(enumerate(table["digits"]))[1:]:
        for form in {digit, SHORT_FORMS.get(digit, digit)}:
            yield pattern.replace("{tens}", word).replace("{digit}", form), f"{ten}{number}"


def with_spoken_digits(view: View) -> View:
    """Return the view with numbers that are said digit by digit, or in groups, in digits."""
    text = view.text
    if _may_have(view):
        known = spoken()
        view = view.replaced(known.number, lambda match: _digits(match[0], known))
    if not text.isascii() and SEVERAL_HAN_DIGITS.search(view.text) and HAN_NUMBER.search(view.text):
        view = view.replaced(HAN_NUMBER, lambda match: "".join(HAN_DIGITS.get(char, char) for char in match[0]))
    return view


def _may_have(view: View) -> bool:
    heads = spoken().heads
    if heads.isdisjoint(view.derived(word_set)):
        return False
    run = 0
    for word in WORD.findall(view.lowered):
        if word in heads:
            run += 1
            if run == LEAST_WORDS:
                return True
        elif word not in BETWEEN:
            run = 0
    return False


def _digits(text: str, known: Spoken) -> str:
    parts: list[str] = []
    repeat, hundred = 1, 0
    for match in known.one.finditer(text.lower()):
        word = match[0]
        if word in known.repeats:
            repeat = known.repeats[word]
            continue
        if word in known.hundreds:
            if hundred:
                parts.append(str(hundred))
            hundred = known.hundreds[word]
            continue
        value = known.digits[_bare(word)]
        if hundred and value != "0":
            value = str(hundred + int(value))
        elif hundred:
            parts.append(str(hundred))
        parts += [value] * repeat
        repeat, hundred = 1, 0
    if hundred:
        parts.append(str(hundred))
    digits = "".join(parts)
    if digits.startswith(COUNTED):
        return text
    alone = len(digits) >= LEAST_DIGITS and (len(parts) > MOST_PLAIN or len(digits) > len(parts) + 1)
    return digits if alone else text


@cache
def spoken_words() -> frozenset[str]:
    """Return the words that numbers are said in, for who reads a text that is not finished."""
    said = spoken().heads | frozenset(WORD.findall(" ".join(words("spelled", "digits", "numbers", "tens", "hundreds"))))
    return said - OTHER_WORDS
