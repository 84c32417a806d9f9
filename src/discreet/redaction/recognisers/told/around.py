"""Passwords that stand before the words that tell them, or between two: "opensesame is my password", "use … as password"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.recognisers.told.names import secrets
from discreet.redaction.recognisers.told.values import BRAND, LEAST_WORD_CHARS, TRAILING, looks_random, names_a_value
from discreet.redaction.view import Span, View
from discreet.redaction.word_set import small, word_set
from discreet.redaction.words import any_of, whole, words

LEAST_CHARS = 4
MOST_SPACES = 64
"""More between a sentence and the next begin a text. A bound, as looking back to the beginning each time isn't linear."""

_NAME = whole(words("secret", "password", "weak"))
_ANY_NAME = whole((*words("secret", "password", "weak", "key"), "access token", "secret token"))
_WHOSE = any_of(words("telling", "whose", spaced=True))
_USE = whole(words("telling", "use", spaced=True))
_AS = any_of(words("telling", "as", spaced=True))
_TRIED = whole(words("telling", "tried", spaced=True))
_WRONG = whole(words("telling", "wrong", spaced=True))
_VALUE = r"[\"'`“«「]?(?P<value>[!-~]{4,64})[\"'`”»」]?"
_BEFORE = r"(?<![!-~])(?P<value>[!-~]{4,128})[\"'`”»」]{0,2}"

TYPED = (
    re.compile(rf"{_USE} {_VALUE} {_AS} (?:{_WHOSE} ){{0,2}}{_NAME}"),
    re.compile(rf"(?<![a-z])set (?:it|this|that|them) to {_VALUE} as (?:{_WHOSE} ){{0,2}}{_NAME}"),
    re.compile(
        rf"{_TRIED} {_VALUE}[, ]{{1,3}}[^.!?\r\n\0]{{0,30}}?(?:{_WRONG} {_NAME}|{_NAME} (?:\w{{1,12}} ){{0,2}}{_WRONG})"
    ),
    re.compile(
        rf"{any_of(words('telling', 'use', spaced=False))}了? ?{_VALUE} ?{any_of(words('telling', 'as', spaced=False))}{any_of(words('telling', 'whose', spaced=False))}?(?:登[录入])?{_NAME}(?![器管本])"
    ),
    re.compile(
        rf"{any_of(words('telling', 'tried', spaced=False))}了? ?{_VALUE}[^a-z。\r\n\0]{{0,10}}?{_NAME}{any_of(words('telling', 'wrong', spaced=False))}"
    ),
)
"""The value is between a word for typing and one for a password, for text in small letters."""

SAID_FIRST = (
    re.compile(
        rf"{_BEFORE}[ ]{{1,2}}(?:{any_of((*words('telling', 'is', spaced=True), 'will be', 'as', '-'))} (?:{_WHOSE} )"
        rf"|(?:- )?(?:это )?(?:мой|твой|ваш|наш) )(?:[\w'-]{{1,20}} ){{0,3}}?{_ANY_NAME}(?! (?:manager|policy))"
    ),
    re.compile(rf"{_BEFORE} là (?:{_ANY_NAME}|pass)"),
    re.compile(rf"{_BEFORE}[ ]?是(?:我|你|您|他|她)?們?们?的?\w{{0,8}}?{_ANY_NAME}(?!管理)"),
    re.compile(
        rf"{_BEFORE}[ ]?(?:が|は|って|を|이|가|은|는|를|을) ?(?:私の|僕の|うちの|新しい|내 |제 |우리 |새 )?{_ANY_NAME}"
    ),
    re.compile(rf"{_USE} {_VALUE} for (?:{_WHOSE} )(?:[\w'-]{{1,20}} ){{0,2}}?{_ANY_NAME}"),
)
"""The value is before a word for a password."""

ENGLISH = frozenset(("as", "wrong", "incorrect", "invalid", "bad"))
NETWORKS = frozenset(("wifi", "wi", "wlan", "router"))
OPENING = frozenset(("log", "sign", "unlock", "access", "connect", "authenticate", "decrypt"))
TYPING = frozenset(("use", "with", "enter", "type"))
OPENS = re.compile(
    r"(?<![a-z])(?:use|with|enter|type) [\"'`“]?(?P<value>[!-~]{6,128})[\"'`”]? to (?:log|sign|unlock|access|connect|authenticate|decrypt)"
)
"""Needs no word for a password, as the next ones."""
ASKED = re.compile(
    r"(?<![a-z])what(?:'?s| is) (?:the|your) (?:wi-?fi|wlan|router)(?: (?:password|pw|pass|key"
    r"|code))?\?[ \r\n]{1,3}(?:[>:-] ?)?(?P<value>[!-~]{6,64})(?=[ ]?(?:[\r\n]|\Z))"
)
EXPLAINED = re.compile(
    r"(?<![a-z])it(?:'?s| is) (?P<value>[!-~]{6,64}) \((?:the|my|our) (?:wi-?fi|wlan|router|login|netflix"
    r"|account|zip|laptop|email|portal|vpn)(?: (?:one|password|pw|pass))?\)"
)


class AroundRecogniser:
    """Looks for a value in front of a word for a password, or between a word for typing and one for a password.

    Among words of other scripts, or with marks, a word of plain small letters is typed, too.
    """

    type = "SECRET"

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all such passwords."""
        lowered = view.derived(small)
        found = view.derived(word_set)
        if " to " in lowered and not (TYPING.isdisjoint(found) or OPENING.isdisjoint(found)):
            yield from self._first(view, OPENS)
        if "what" in lowered and not NETWORKS.isdisjoint(found):
            yield from self._typed(view, ASKED)
        if " (" in lowered and ("it's" in lowered or "it is" in lowered):
            yield from self._typed(view, EXPLAINED)
        if not secrets().places(view):
            return
        for pattern in TYPED:
            yield from self._typed(view, pattern)
        for pattern in SAID_FIRST:
            yield from self._first(view, pattern)

    def _typed(self, view: View, pattern: re.Pattern[str]) -> Iterator[Span]:
        for match in pattern.finditer(view.derived(small)):
            start = match.start("value")
            value = view.text[start : match.end("value")].rstrip(TRAILING)
            around = match[0].replace(match["value"], "")
            if is_typed(
                value,
                foreign=pattern is TYPED[1]
                or not around.isascii()
                or not any(word in ENGLISH for word in around.split()),
            ):
                yield start, start + len(value)

    def _first(self, view: View, pattern: re.Pattern[str]) -> Iterator[Span]:
        for match in pattern.finditer(view.derived(small)):
            whole = view.text[slice(*match.span("value"))]
            value = whole.strip(TRAILING)
            start = match.start("value") + whole.find(value)
            if stands_before(view.text, start, value):
                yield start, start + len(value)


def is_typed(value: str, *, foreign: bool) -> bool:
    """Tell a password from the name of a thing, in a sentence that is about one."""
    if len(value) < LEAST_CHARS or not names_a_value(value) or BRAND.fullmatch(value.rstrip("0123456789")):
        return False
    return looks_random(value) or (foreign and len(value) > LEAST_CHARS and value.islower() and value.isalpha())


def stands_before(text: str, start: int, value: str) -> bool:
    """Tell the password of "opensesame is my password" from "this is my password"."""
    if len(value) < LEAST_CHARS or not names_a_value(value):
        return False
    if looks_random(value):
        return True
    before = text[max(0, start - MOST_SPACES) : start].rstrip()
    return len(value) >= LEAST_WORD_CHARS and value.islower() and (not before or before[-1] in ".:!?\n")
