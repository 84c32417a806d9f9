"""Read the days, months and years that a question names, in English, Russian, Vietnamese and Chinese.

A memory knows when it was said, its text seldom does: "in May" in a question has to meet the date of the memory.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ENGLISH = r"jan(?:uary)?|feb(?:ruary)?|mar|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
_DAY = r"(?:\d{1,2}(?:st|nd|rd|th)?)"
_AMBIGUOUS = rf"(?:in|of|since|until|by|this|last|next|early|mid|late|{_DAY})\s+(may|march)\b|\b(may|march)\s+(?:of\s+|the\s+)?\d"
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
_DAY_BEFORE = re.compile(r"(?<!\d)(?P<day>\d{1,2})(?:st|nd|rd|th|-?го)?(?:\s+of)?(?:\s+tháng)?[\s.,/-]*$")
_DAY_AFTER = re.compile(r"(?:月|[\s.,/-]+(?:the\s+)?)(?P<day>\d{1,2})(?![\d:])")
_LAST_MONTH, _LAST_DAY = 12, 31
_BESIDE = 16
"""Characters before a month in which its day stands: `30th of ` or `ngày 30 tháng `."""


class Named(NamedTuple):
    """Parts of dates that a text names. They are not matched to each other: a question seldom names two dates."""

    days: set[int]
    """Of the month; only where a month stands beside it, in digits."""
    months: set[int]
    years: set[int]


def named_dates(text: str) -> Named:
    """Return the days, months and years that `text` names.

    >>> named_dates("Between March 2022 and the 8th of May")
    Named(days={8}, months={3, 5}, years={2022})
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    days: set[int] = set()
    months: set[int] = set()
    for match in _MONTHS.finditer(text):
        month = _month(match)
        if 1 <= month <= _LAST_MONTH:
            months.add(month)
            days.update(_days_beside(text, *match.span(match.lastindex or 0)))
    return Named(days, months, {int(match[0]) for match in _YEARS.finditer(text)})


def _month(match: re.Match[str]) -> int:
    """Return the month of `match`, of which one group is filled."""
    group, word = match.lastgroup, match[match.lastindex or 0]
    if group in ("number", "before"):
        return int(word)
    if group == "vietnamese":
        return _VIETNAMESE_MONTH[" ".join(word.split())]
    if group == "chinese":
        return _CHINESE_MONTH[word]
    names = _RUSSIAN_NAMES if group == "russian" else _ENGLISH_NAMES
    return 1 + next(n for n, name in enumerate(names) if word.startswith(name))


def _days_beside(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the days right before and after the month at `start` to `end`."""
    before = _DAY_BEFORE.search(text[max(0, start - _BESIDE) : start])
    for match in (before, _DAY_AFTER.match(text, end)):
        if match is not None and 1 <= int(match["day"]) <= _LAST_DAY:
            yield int(match["day"])
