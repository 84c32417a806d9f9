"""Read the months and years that a question names, in English, Russian, Vietnamese and Chinese.

A memory knows when it was said, its text seldom does: "in May" in a question has to meet the date of the memory.
"""

# ruff: noqa: RUF001 - the words are written in their own letters

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

_ENGLISH = r"jan(?:uary)?|feb(?:ruary)?|mar|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
_DAY = r"(?:\d{1,2}(?:st|nd|rd|th)?)"
_AMBIGUOUS = (
    rf"(?:in|of|since|until|by|this|last|next|early|mid|late|{_DAY})\s+(may|march)\b|\b(may|march)\s+(?:of\s+)?\d"
)
"""`may` and `march` are verbs too: they are months after a word or beside a number that makes them so."""
_ENGLISH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_RUSSIAN = r"январ|феврал|март(?:а|е|у|ом)?\b|апрел|ма[йяею]\b|июн|июл|август|сентябр|октябр|ноябр|декабр"
_RUSSIAN_NAMES = ("янв", "фев", "мар", "апр", "ма", "июн", "июл", "авг", "сен", "окт", "ноя", "дек")

_VIETNAMESE_NUMBERS = (
    ("giêng", "một"),
    ("hai",),
    ("ba",),
    ("tư", "bốn"),
    ("năm",),
    ("sáu",),
    ("bảy", "bẩy"),
    ("tám",),
    ("chín",),
    ("mười",),
    ("mười một",),
    ("mười hai", "chạp"),
)
_CHINESE_NUMBERS = ("一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二")


def _longest_first(words: Sequence[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True)).replace(" ", r"\s+")


_VIETNAMESE_MONTH = {word: month for month, words in enumerate(_VIETNAMESE_NUMBERS, 1) for word in words}
_CHINESE_MONTH = {word: month for month, word in enumerate(_CHINESE_NUMBERS, 1)}

_MONTHS = re.compile(
    rf"""
      \b(?P<english>{_ENGLISH})\b
    | \b(?:{_AMBIGUOUS})
    | \b(?P<russian>{_RUSSIAN})
    | \btháng\s+(?:(?P<vietnamese>{_longest_first(list(_VIETNAMESE_MONTH))})\b)
    | (?P<chinese>{_longest_first(_CHINESE_NUMBERS)})月
    | (?:\btháng\s+|\b(?:19|20)\d\d[-./])(?P<number>\d{{1,2}})(?!\d)
    | (?<!\d)(?P<before>\d{{1,2}})(?:\s*月|[./](?:19|20)\d\d\b)
    """,
    re.VERBOSE,
)
_YEARS = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_LAST_MONTH = 12


def months(text: str) -> set[int]:
    """Return the months, 1 to 12, that `text` names.

    >>> sorted(months("Between March 2023 and the 8th of May"))
    [3, 5]
    """
    found = _MONTHS.finditer(unicodedata.normalize("NFKC", text).casefold())
    return {month for match in found for month in _month(match) if 1 <= month <= _LAST_MONTH}


def years(text: str) -> set[int]:
    """Return the years from 1900 to 2099 that `text` names.

    >>> years("Did I go in 2023?")
    {2023}
    """
    return {int(match[0]) for match in _YEARS.finditer(unicodedata.normalize("NFKC", text))}


def _month(match: re.Match[str]) -> Iterator[int]:
    """Return the month of `match`. Only one group of it is filled."""
    group, word = match.lastgroup, match[match.lastindex or 0]
    if group in ("number", "before"):
        yield int(word)
    elif group == "vietnamese":
        yield _VIETNAMESE_MONTH[word]
    elif group == "chinese":
        yield _CHINESE_MONTH[word]
    else:
        names = _RUSSIAN_NAMES if group == "russian" else _ENGLISH_NAMES
        yield 1 + next(n for n, name in enumerate(names) if word.startswith(name))
