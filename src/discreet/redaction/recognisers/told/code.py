"""Short codes that let somebody in: PINs, one-time codes, card verification values, codes of doors and alarms."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers.told.names import CODES, PRESSED, SECRETS
from discreet.redaction.recognisers.told.password import NAME as PASSWORD
from discreet.redaction.recognisers.told.values import NAMED_THING, YEAR
from discreet.redaction.recognisers.windows import Windows
from discreet.redaction.word_index import is_unspaced
from discreet.redaction.word_set import small
from discreet.redaction.words import any_of, whole, words

MOST_CHARS_BETWEEN = 48
"""How far from its word a code stands: "the PIN number for my old debit card is 4821"."""
MOST_TOLD_BETWEEN = 24
"""The same where no word says that the code is next."""
SHORT = 12
LEAST_DIGITS = 4
CARD_DIGITS = range(3, 5)
SENT_DIGITS = 6
MOST_PLAIN_DIGITS = 8
LOOKED_AT_BEFORE = 64
LOOKED_AT_BEHIND = 220
"""What tells a code: a name, as much as may stand between, a code of 45 characters at most, and a unit."""
MOST_CHARS_OF_LOCK = 64
"""So far from what it opens a code stands: "the alarm panel is by the door, punch in 1390"."""

THREE_DIGITS = lazy("[0-9](?: - |[ .-])?[0-9]")

NAME = lazy("|".join(f"(?P<{kind}>{whole(words('code', kind))})" for kind in ("card", "pin", "once", "plain")))
"""For text in small letters. `plain` ones name much else."""

_VALUE = (
    r"(?:[A-Z]{1,3}-)?(?P<value>[0-9]{3,4}[ -][0-9]{3,4}|[0-9]{3,10}|[A-Z0-9]{4}(?:-[A-Z0-9]{4}){1,5}"
    r"|(?=[A-Z]{0,7}[0-9])(?=[0-9]{0,7}[A-Z])[A-Z0-9]{5,8}(?:-[A-Z0-9]{4,8}){0,3}|(?:[0-9](?: - |[ -])){3,7}[0-9]|(?:[0-9]\.){4,7}[0-9])"
)
DIGITS = lazy(
    rf"(?<![A-Za-z0-9/#$€£¥₫+])(?<![0-9][.,:-])(?<!-){_VALUE}"
    r"(?![A-Za-z0-9]|[.:/-][0-9]|,[0-9]{3}(?![0-9])|[ ]?(?:%|°|\$|€|₫|đ(?!\w)))"
)
UNIT = lazy(rf"[ -]{{0,2}}{whole(words('code', 'unit'))}")
OTHER = whole(words("code", "other"))
OTHER_BEFORE = lazy(rf"{OTHER}[ -]?\Z")
OTHER_BEHIND = lazy(rf" ?(?:d[eiu]l? |d'|do |da |का |の)?{OTHER}")
"""Words that make something else of "code", before it or behind it: error code, código postal."""
NEXT_SENTENCE = lazy(r"[。!?！？\r\n]|\.(?= [^\W\d])")
ABOUT = lazy(rf"{whole(words('code', 'about'))}|(?<!mã )(?<![^\W\d_])có (?!mã|hiệu)")
_IS = any_of((*words("telling", "is", spaced=True), "to", "as", "-"))
_WHOSE = any_of(words("telling", "whose"))
TOLD = lazy(rf"(?:(?<![^\W\d_])(?:{_IS})|:|=|-|→|{any_of(words('telling', 'is', spaced=False))})[ \"'`“«「]{{0,3}}\Z")
WHOSE = lazy(rf"(?<![^\W\d_])(?:{_WHOSE})(?: \w{{2,16}})?[ ]?\Z")
SENT = lazy(whole(words("code", "sent")))

_GAP = r"[\"'`”»」]{0,2}[ ]{0,2}"
CALLED = lazy(rf"{_GAP}(?:{_IS}) (?:{_WHOSE}) (?:[\w'-]{{1,20}} ){{0,4}}\Z")
NAMED = lazy(rf"{_GAP}(?:(?:{_IS}) )?(?:[\w'-]{{1,20}} ){{0,2}}\Z")
GLUED = lazy(rf"{_GAP}(?:{any_of(words('telling', 'is', spaced=False))})?[\w ]{{0,16}}\Z|\(\Z")
"""What stands between a code and the word behind it that names it, for text in small letters."""
MOST_CHARS_TO_NAME = 120
IN_HALVES = lazy("[0-9]{3}[ -][0-9]{3}")
LATER = lazy(r"[^.!?。！？\n\0]{0,40}\Z")
"""What stands between a code in two halves, which little else is written in, and a word for one."""
IS_BEHIND = lazy(
    rf"[\"'`”»」]{{0,2}}[ ]{{0,2}}(?:{_IS}) |[\"'`”»」]{{0,2}}[ ]?(?:{any_of(words('telling', 'is', spaced=False))}|\()"
)
TO_VERIFY = lazy(
    r"(?: (?:to|as|for|als|zum|um|zur|para|como|per|pour|comme|để|для|voor|om|do|için|untuk"
    r"|as your)) (?:\w{1,16} ){0,3}?(?:verif|log|sign|confirm|conferm|authent|activ|aktiv|reset|unlock|access"
    r"|code|pin|xác|đăng|вход|подтвержд|otp|anmeld|bestätig|código|codice|kod)"
)
USED = lazy(rf"{whole((*words('telling', 'use'), *words('code', 'sent')))} \Z")
PRESSED_BEFORE = lazy(rf"{whole(words('code', 'press'))}(?: in| 密码| code| mã)?[ :]{{0,2}}[\"'“«]?\Z")
PRESSED_BEHIND = lazy(rf"[\"'“«»]?[#*]?[ ]?{whole(words('code', 'press'))}")
LOCK = lazy(whole(words("code", "lock")))
MEASURE = lazy(r"[ ]?(?:times|minutes?|seconds?|hours?|days?|floor|этаж|раз|минут|tầng|lần|楼|樓|层|次|분|층)")

KINDS = frozenset(("card", "pin", "once", "plain", "password"))
"""Of the words that name codes, those that may stand behind one."""


class ToldCodeRecogniser:
    """Finds three to eight digits (or a mix of capitals and digits) near a word for such a code, or for what it opens.

    Sentences about codes have digits, too ("the code has 6 digits, expires in 5 minutes"): those are too short, or a
    unit follows.
    """

    type = "SECRET"
    LEAST_DIGITS = 3

    def spans(self, view: View) -> Iterator[Span]:
        """Return the spans of all codes."""
        text = view.text
        if not THREE_DIGITS.search(text):
            return
        lowered = view.derived(small)
        if spots := CODES.places(view):
            behind = Windows(
                text, lambda text, spot: look(text, lowered, spot), before=LOOKED_AT_BEFORE, behind=LOOKED_AT_BEHIND
            )
            place = 0
            for spot in spots:
                if spot < place or (seen := behind.at(spot)) is None:
                    continue
                place = spot + seen[0]
                if found := seen[1]:
                    yield spot + found[0], spot + found[1]
        named, pressed = bool(spots), bool(PRESSED.places(view))
        for digits in DIGITS.finditer(text) if named or pressed else ():
            if (
                (named and self._named_behind(view, digits))
                or is_verified(lowered, digits)
                or (pressed and self._pressed(lowered, digits))
            ):
                yield digits.span("value")

    def _named_behind(self, view: View, digits: re.Match[str]) -> bool:
        """Tell whether the words behind say what the digits are, or that somebody is verified by them."""
        lowered = view.derived(small)
        value, (start, end) = digits["value"], digits.span("value")
        if UNIT.match(lowered, end) or OTHER_BEFORE.search(lowered, max(0, start - 16), start) or value.endswith("000"):
            return False
        if NAMED_THING.fullmatch(value):
            return False
        named = name_behind(view, digits)
        if named is None or (YEAR.fullmatch(value) and not IS_BEHIND.match(lowered, end)):
            return False
        return sum(map(str.isdigit, value)) >= LEAST_DIGITS or "cv" in named

    def _pressed(self, lowered: str, digits: re.Match[str]) -> bool:
        """Tell whether the digits are pressed to open something that the sentence names."""
        value, (start, end) = digits["value"], digits.span("value")
        if not value.isdigit() or YEAR.fullmatch(value) or UNIT.match(lowered, end) or MEASURE.match(lowered, end):
            return False
        if not (
            PRESSED_BEFORE.search(lowered, max(0, start - 28), start)
            or (len(value) >= LEAST_DIGITS and PRESSED_BEHIND.match(lowered, end))
        ):
            return False
        return LOCK.search(lowered, max(0, start - MOST_CHARS_OF_LOCK), end + MOST_CHARS_OF_LOCK) is not None


def name_behind(view: View, digits: re.Match[str]) -> str | None:
    """Return the word behind digits that names them a code; None if there is none."""
    lowered, end = view.derived(small), digits.end("value")
    for kind, start, last in names(view, end, end + MOST_CHARS_TO_NAME):
        plain, unspaced = kind == "plain", is_unspaced(lowered[start])
        if (
            CALLED.match(lowered, end, start)
            or (not plain and NAMED.match(lowered, end, start))
            or (not plain and unspaced and GLUED.match(lowered, end, start))
            or (kind == "once" and IN_HALVES.fullmatch(digits["value"]) and LATER.match(lowered, end, start))
        ):
            return lowered[start:last]
    return None


def names(view: View, first: int, last: int) -> Iterator[tuple[str, int, int]]:
    """Yield the kinds and spans of the words for codes and passwords that begin between two places."""
    lowered = view.derived(small)
    for places, pattern in ((CODES, NAME), (SECRETS, PASSWORD)):
        found = places.places(view)
        for place in found[bisect_left(found, first) : bisect_left(found, last)]:
            if (name := pattern.match(lowered, place)) and name.lastgroup in KINDS:
                yield str(name.lastgroup), *name.span()


def is_verified(lowered: str, digits: re.Match[str]) -> bool:
    """Tell whether the digits are to be entered in order to verify somebody."""
    start, end = digits.span("value")
    used = digits["value"].isdigit() and USED.search(lowered, max(0, start - 24), start)
    return bool(used and TO_VERIFY.match(lowered, end))


def look(text: str, lowered: str, spot: int) -> tuple[int, Span | None] | None:
    """Return how long the name at `spot` is, and from there on the span of the code that it announces, or None."""
    name = NAME.match(lowered, spot)
    if name is None:
        return None
    if OTHER_BEFORE.search(lowered, max(0, spot - 16), spot) or OTHER_BEHIND.match(lowered, name.end()):
        return name.end() - spot, None
    found = code_behind(text, lowered, name)
    return name.end() - spot, found and (found[0] - spot, found[1] - spot)


def code_behind(text: str, lowered: str, name: re.Match[str]) -> Span | None:
    """Return the span of the code behind a word for one; None if the sentence has none."""
    limit = min(len(text), name.end() + MOST_CHARS_BETWEEN + 20)
    digits = DIGITS.search(text, name.end(), limit)
    if digits is None or digits.start() - name.end() > MOST_CHARS_BETWEEN:
        return None
    between = lowered[name.end() : digits.start()].lstrip("?")
    if (
        NEXT_SENTENCE.search(between)
        or (not name["card"] and ABOUT.search(between))
        or UNIT.match(lowered, digits.end())
    ):
        return None
    value = digits["value"]
    count = sum(map(str.isdigit, value))
    told = TOLD.search(between) is not None
    if not told and between.strip(" :#") and (value.endswith("000") or NAMED_THING.fullmatch(value)):
        return None
    if YEAR.fullmatch(value) and not told and between.strip(" :"):
        return None
    if name["card"]:
        fits = (count in CARD_DIGITS and value.isdigit()) or (
            count > max(CARD_DIGITS) and "card" not in name[0] and len(between) < SHORT
        )
    elif count < LEAST_DIGITS:
        fits = bool(name["pin"]) and len(between) < SHORT and "cod" in name[0]
    elif name["plain"]:
        fits = is_plain_told(lowered, name, between, count, told=told)
    else:
        fits = told or not name["pin"] or len(between.strip()) <= MOST_TOLD_BETWEEN
    return digits.span("value") if fits else None


def is_plain_told(lowered: str, name: re.Match[str], between: str, count: int, *, told: bool) -> bool:
    """Tell whether a word that names much else names a code that somebody was sent, or that is somebody's own."""
    if count > MOST_PLAIN_DIGITS:
        return False
    before = lowered[max(0, name.start() - 30) : name.start()]
    if LOCK.search(before) and len(between) < SHORT:
        return True
    if count == SENT_DIGITS and len(between) < SHORT:
        return True
    if SENT.search(before) or SENT.search(between):
        return told or len(between) < SHORT or count == SENT_DIGITS
    return told and WHOSE.search(before) is not None
