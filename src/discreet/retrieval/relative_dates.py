"""Write the days, weeks, months and years that a text counts from when it was said as dates. Pure; see relative_dates.toml.

"Yesterday" means nothing in a memory that is read in a year. What may be meant in two ways stays as it was said: "next
Friday" on a Wednesday, "in two weeks" of something that took two weeks, "on Friday", "recently".
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Final, NamedTuple

_SPACED: Final = r"(?<![\w'’-])(?:{})(?![\w'’-])"
_MOST: Final = 99
"""Units away; what is further off is a manner of speaking."""
_WEEK, _YEAR, _SATURDAY = 7, 12, 5
_NEVER: Final = r"(?!)"
_SENTENCE: Final = re.compile(r"[.!?;\n]")

_Meant = tuple[str, date] | None
"""A unit and its first day; None if it is not sure."""
_Means = Callable[[re.Match[str], date], _Meant]
"""What a phrase means on a day."""


class _Rule(NamedTuple):
    """A kind of phrase, and what it means on a day."""

    pattern: re.Pattern[str]
    means: _Means


class _Language(NamedTuple):
    """The phrases of one language, and how it writes dates."""

    rules: list[_Rule]
    words: Mapping[str, Any]
    bare: re.Pattern[str]

    def written(self, match: re.Match[str], meant: _Meant) -> str:
        """Return the date that was `meant` by the words of `match`, or those if it is not sure."""
        if meant is None:
            return match[0]
        unit, day = meant
        out, month = self.words["out"], self.words["months"][day.month - 1]
        text: str = out[unit].format(d=day.day, m=day.month, y=day.year, month=month)
        if part := match.groupdict().get("part"):
            text += out["part"].format(part=part)
        if self.bare.search(match.string[: match.start()]):
            text = text.partition(" ")[2]
        return text[:1].upper() + text[1:] if match[0][:1].isupper() else text


def dated(text: str, said_at: datetime) -> str:
    """Return `text` with dates for words such as "yesterday", as seen from `said_at`, written in the words' own language.

    Example:
        >>> at = datetime(2026, 11, 25, 9, 30)
        >>> dated("I sold my car yesterday", at), dated("Мы переезжаем в следующем году", at), dated("我下周三考试", at)
        ('I sold my car on 24 November 2026', 'Мы переезжаем в 2027 году', '我2026年12月2日考试')
    """
    for language in _languages():
        for rule in language.rules:
            text = _replaced(text, rule, language, said_at.date())
    return text


def _replaced(text: str, rule: _Rule, language: _Language, today: date) -> str:
    return rule.pattern.sub(lambda match: language.written(match, rule.means(match, today)), text)


@cache
def _languages() -> list[_Language]:
    data = tomllib.loads(files(__package__).joinpath("relative_dates.toml").read_text(encoding="utf-8"))
    return [
        _Language(
            list(_rules(words, is_spaced=name != "zh")), words, re.compile(words["bare"] or _NEVER, re.IGNORECASE)
        )
        for name, words in data.items()
    ]


def _rules(words: Mapping[str, Any], *, is_spaced: bool) -> Iterator[_Rule]:
    """Give the rules of a language in the order in which they apply: "two years ago" before "a year"."""

    def compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(_SPACED.format(pattern) if is_spaced else pattern, re.IGNORECASE)

    for key, phrase in words["phrases"].items():
        unit, shift = key.split("/")
        yield _Rule(compiled(phrase), _of_unit(unit, int(shift)))
    for pattern, means in _counts(words):
        yield _Rule(compiled(pattern), means)
    for (shift, said), (number, day) in product(words["shifts"].items(), enumerate(words["weekdays"])):
        for kind in filter(words.get, ("day_of_week", "near_day")):
            pattern = words[kind].format(day=day, shift=said, week=words["units"]["week"])
            yield _Rule(compiled(pattern), _of_weekday(number, int(shift), is_sure=kind == "day_of_week"))
    for (shift, said), unit in product(words["shifts"].items(), ("week", "month", "year", "weekend")):
        if words["beside"] and unit in words["units"]:
            pattern = words["beside"].format(shift=said, unit=words["units"][unit])
            yield _Rule(compiled(pattern), _of_unit(unit, int(shift)))
    for phrase in sorted(words["days"], key=len, reverse=True):
        yield _Rule(compiled(f"(?:{phrase}){words['part']}"), _of_unit("day", words["days"][phrase]))


def _counts(words: Mapping[str, Any]) -> Iterator[tuple[str, _Means]]:
    """Give the phrases that count units: "two weeks ago", "in a month"."""
    count = "|".join([r"(?<!\d)\d{1,2}", *words["numbers"].values()])
    for side, phrases in ((-1, words["ago"]), (1, words["ahead"])):
        took = re.compile((side > 0 and words["took"]) or _NEVER, re.IGNORECASE)
        for phrase, (unit, word) in product(phrases, words["units"].items()):
            one = words.get("one", {}).get(unit, _NEVER)
            yield (
                phrase.format(n=f"(?P<count>{count})", unit=word, one=one),
                _counted(unit, side, words["numbers"], took),
            )


def _of_unit(unit: str, shift: int) -> _Means:
    return lambda _match, today: (unit, _moved(today, unit, shift))


def _counted(unit: str, side: int, numbers: Mapping[str, str], took: re.Pattern[str]) -> _Means:
    def means(match: re.Match[str], today: date) -> _Meant:
        said = match["count"] or "1"
        if not said.isdigit():
            said = next(number for number, words in numbers.items() if re.fullmatch(words, said, re.IGNORECASE))
        clause = _SENTENCE.split(match.string[: match.start()])[-1]
        if not 0 < int(said) <= _MOST or took.search(clause):
            return None
        day = _moved(today, "day" if unit == "week" else unit, side * int(said) * (_WEEK if unit == "week" else 1))
        return ("about" if unit == "week" else unit), day

    return means


def _of_weekday(number: int, shift: int, *, is_sure: bool) -> _Means:
    """Return the day of another week, or of this one. For some, "last" and "next" are the nearest such day; for others not."""

    def means(_match: re.Match[str], today: date) -> _Meant:
        day = today + timedelta(days=number - today.weekday() + shift * _WEEK)
        away = (day - today).days
        if not is_sure and (not 0 < away * shift <= _WEEK if shift else away < 0):
            return None
        return "day", day

    return means


def _moved(day: date, unit: str, shift: int) -> date:
    """Return the first day of the unit that is `shift` units from the one with `day`."""
    if unit == "day":
        return day + timedelta(days=shift)
    if unit in ("week", "weekend"):
        return day + timedelta(days=shift * _WEEK - day.weekday() + (_SATURDAY if unit == "weekend" else 0))
    months = day.year * _YEAR + day.month - 1 + shift * (1 if unit == "month" else _YEAR)
    return date(months // _YEAR, months % _YEAR + 1, 1)
