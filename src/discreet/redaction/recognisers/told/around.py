"""Passwords that stand before the words that tell them, or between two: "opensesame is my password", "use … as password"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.names import SECRETS
from discreet.redaction.recognisers.told.password import NAME
from discreet.redaction.recognisers.told.values import BRAND, LEAST_WORD_CHARS, TRAILING, looks_random, names_a_value
from discreet.redaction.recognisers.windows import Windows
from discreet.redaction.word_set import small, word_set
from discreet.redaction.words import any_of, whole, words

LEAST_CHARS = 4
MOST_SPACES = 64
"""More between a sentence and the next begin a text. A bound, as looking back to the beginning each time isn't linear."""
REACH = 220
"""Characters before a word for a password in which the password may stand: it has 128 at most."""
LOOKED_AT_BEHIND = 80

_WHOSE = any_of(words("telling", "whose", spaced=True))
_USE = whole(words("telling", "use", spaced=True))
_AS = any_of(words("telling", "as", spaced=True))
_TRIED = whole(words("telling", "tried", spaced=True))
_WRONG = whole(words("telling", "wrong", spaced=True))
_USE_GLUED, _AS_GLUED, _WHOSE_GLUED, _TRIED_GLUED, _WRONG_GLUED = (
    any_of(words("telling", name, spaced=False)) for name in ("use", "as", "whose", "tried", "wrong")
)
_VALUE = r"[\"'`“«「]?(?P<value>[!-~]{4,64})[\"'`”»」]?"
_BEFORE = r"(?<![!-~])(?P<value>[!-~]{4,128})[\"'`”»」]{0,2}"

SET = lazy(rf"(?<![a-z])set (?:it|this|that|them) to {_VALUE} as (?:{_WHOSE} ){{0,2}}\Z")
TYPED = (
    lazy(rf"{_USE} {_VALUE} {_AS} (?:{_WHOSE} ){{0,2}}\Z"),
    SET,
    lazy(rf"{_TRIED} {_VALUE}[, ]{{1,3}}[^.!?\r\n\0]{{0,30}}?(?P<wrong>{_WRONG} )?\Z"),
    lazy(rf"(?:{_USE_GLUED})了? ?{_VALUE} ?(?:{_AS_GLUED})(?:{_WHOSE_GLUED})?(?:登[录入])?\Z"),
    lazy(rf"(?:{_TRIED_GLUED})了? ?{_VALUE}(?P<wrong>)?[^a-z。\r\n\0]{{0,10}}?\Z"),
)
"""The value is between a word for typing and one for a password, which it ends at, for text in small letters."""
STILL_WRONG = (TYPED[2], TYPED[4])
"""Those that say that it wasn't accepted: before the word for a password or behind it."""
WRONG_BEHIND = lazy(rf" (?:\w{{1,12}} ){{0,2}}{_WRONG}|(?:{_WRONG_GLUED})")

SAID_FIRST = (
    lazy(
        rf"{_BEFORE}[ ]{{1,2}}(?:{any_of((*words('telling', 'is', spaced=True), 'will be', 'as', '-'))} (?:{_WHOSE} )"
        rf"|(?:- )?(?:это )?(?:мой|твой|ваш|наш) )(?:[\w'-]{{1,20}} ){{0,3}}?\Z"
    ),
    lazy(rf"{_BEFORE} là \Z"),
    lazy(rf"{_BEFORE}[ ]?是(?:我|你|您|他|她)?們?们?的?\w{{0,8}}?\Z"),
    lazy(rf"{_BEFORE}[ ]?[がはっをい이가은는를을]て? ?(?:私の|僕の|うちの|新しい|내 |제 |우리 |새 )?\Z"),
    lazy(rf"{_USE} {_VALUE} for (?:{_WHOSE} )(?:[\w'-]{{1,20}} ){{0,2}}?\Z"),
)
"""The value is before a word for a password."""
OTHERWISE = lazy(r" (?:manager|policy)|管理|[器管本]")
"""What makes something else of the word."""

ENGLISH = frozenset(("as", "wrong", "incorrect", "invalid", "bad"))
NETWORKS = frozenset(("wifi", "wi", "wlan", "router"))
OPENING = frozenset(("log", "sign", "unlock", "access", "connect", "authenticate", "decrypt"))
TYPING = frozenset(("use", "with", "enter", "type"))
OPENS = lazy(
    r"(?<![a-z])(?:use|with|enter|type) [\"'`“]?(?P<value>[!-~]{6,128})[\"'`”]? to (?:log|sign|unlock|access|connect|authenticate|decrypt)"
)
"""Needs no word for a password, as the next ones."""
ASKED = lazy(
    r"(?<![a-z])what(?:'?s| is) (?:the|your) (?:wi-?fi|wlan|router)(?: (?:password|pw|pass|key"
    r"|code))?\?[ \r\n]{1,3}(?:[>:-] ?)?(?P<value>[!-~]{6,64})(?=[ ]?(?:[\r\n]|\Z))"
)
EXPLAINED = lazy(
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
        around = Windows(view.text, lambda text, spot: look(text, lowered, spot), before=REACH, behind=LOOKED_AT_BEHIND)
        for spot in SECRETS.places(view):
            yield from ((spot + start, spot + end) for start, end in around.at(spot))

    def _typed(self, view: View, pattern: re.Pattern[str]) -> Iterator[Span]:
        for match in pattern.finditer(view.derived(small)):
            if found := typed(view.text, match, foreign=not match[0].replace(match["value"], "").isascii()):
                yield found

    def _first(self, view: View, pattern: re.Pattern[str]) -> Iterator[Span]:
        for match in pattern.finditer(view.derived(small)):
            if found := said_first(view.text, match):
                yield found


def look(text: str, lowered: str, spot: int) -> list[Span]:
    """Return where passwords stand before the word for one at `spot`, from there on."""
    name = NAME.match(lowered, spot)
    if name is None or name["login"] or OTHERWISE.match(lowered, name.end()):
        return []
    found: list[Span | None] = []
    first = max(0, spot - REACH)
    for pattern in TYPED if not name["key"] else ():
        if match := pattern.search(lowered, first, spot):
            told = pattern not in STILL_WRONG or match["wrong"] or WRONG_BEHIND.match(lowered, name.end())
            rest = (lowered[match.start() : match.start("value")] + lowered[match.end("value") : name.end()]).split()
            foreign = pattern == SET or not all(map(str.isascii, rest)) or ENGLISH.isdisjoint(rest)
            found.append(typed(text, match, foreign=foreign) if told else None)
    before = (pattern.search(lowered, first, spot) for pattern in SAID_FIRST)
    found += [said_first(text, match) for match in before if match]
    return [(start - spot, end - spot) for start, end in filter(None, found)]


def typed(text: str, match: re.Match[str], *, foreign: bool) -> Span | None:
    """Return the span of the value of a match, if it is one that is typed."""
    start = match.start("value")
    value = text[start : match.end("value")].rstrip(TRAILING)
    return (start, start + len(value)) if is_typed(value, foreign=foreign) else None


def said_first(text: str, match: re.Match[str]) -> Span | None:
    """Return the span of the value of a match, if it is one that a word for it follows."""
    told = text[slice(*match.span("value"))]
    value = told.strip(TRAILING)
    start = match.start("value") + told.find(value)
    return (start, start + len(value)) if stands_before(text, start, value) else None


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
