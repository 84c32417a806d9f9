"""What stands around a number or a word that may be a code or a password, as figures that a model weighs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache, reduce
from itertools import chain
from math import exp
from operator import or_
from typing import NamedTuple

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.word_index import Kinds, Place, WordIndex, index
from discreet.redaction.word_set import small
from discreet.redaction.words import words

REACH = 170
"""Characters around a candidate in which words count; so far a stranger reads on, too."""
NEAR, FAR = 10.0, 50.0
"""Characters after which a word counts a third, where nearness counts and where it hardly does."""

CLASSES = {
    "password": (("secret", "password", "weak"),),
    "login": (("secret", "login"),),
    "user": (("secret", "user"),),
    "opens": (("secret", "opens"),),
    "once": (("code", "once"),),
    "pin": (("code", "pin", "card"),),
    "plain": (("code", "plain"),),
    "lock": (("code", "lock"),),
    "press": (("code", "press"), ("telling", "use", "tried")),
    "sent": (("code", "sent"),),
    "context": (("code", "context"),),
    "other": (("code", "other"),),
    "about": (("telling", "about", "lost", "wrong"), ("code", "about")),
    "answer": (("answer", "name", "question", "answer", "answered"),),
    "instead": (("telling", "instead"),),
    "is": (("telling", "is"),),
    "whose": (("telling", "whose"),),
    "unit": (("code", "unit"),),
    "account": (("identity", "person", "bank", "medical"),),
}
"""Kinds of words: tables and lists of the files of words."""


FIELD = lazy(r"(?:text|message)[\"']?:")
"""What a message is called in a record, rather than what a code came with."""


@cache
def telling() -> WordIndex:
    """Return what finds words that are too frequent to be looked for in every text."""
    names = {name for tables in CLASSES.values() for table, *names in tables if table == "telling" for name in names}
    return WordIndex({f"telling.{name}": words("telling", name) for name in sorted(names)})


class Found(NamedTuple):
    """Where the words of a kind begin and end, in order."""

    starts: list[int]
    ends: list[int]


def kinds(view: View) -> tuple[Found, ...]:
    """Return where words stand, for each of `CLASSES`."""
    return view.once(kinds, lambda: _kinds(view))


def _kinds(view: View) -> tuple[Found, ...]:
    words = {**index().found(view), **telling().found(view)}
    if "code.context" in words:
        text = view.derived(small)
        words["code.context"] = [each for each in words["code.context"] if not FIELD.match(text, each.start)]
    return tuple(
        apart(chain(*(words.get(f"{table}.{name}", ()) for table, *names in tables for name in names)))
        for tables in CLASSES.values()
    )


def apart(words: Iterable[Place]) -> Found:
    """Return the words in order, those that stand within others left out."""
    found = Found([], [])
    for start, end in sorted(words):
        if not found.ends or start >= found.ends[-1]:
            found.starts.append(start)
            found.ends.append(end)
    return found


class Nearness(NamedTuple):
    """How near the nearest word of a kind stands before a candidate and behind it: 1 beside it, 0 out of reach."""

    before: float
    before_far: float
    behind: float
    behind_far: float


ABSENT = Nearness(0.0, 0.0, 0.0, 0.0)


def nearness(view: View, found: Found, start: int, end: int) -> Nearness:
    """Return it for a candidate from `start` to `end`."""
    starts, ends = found
    if not starts:
        return ABSENT
    place = bisect_left(starts, start)
    before = start - ends[place - 1] if place else REACH
    later = bisect_left(starts, end)
    behind = starts[later] - end if later < len(starts) else REACH
    if place and ends[place - 1] > start:
        before = REACH
    lines = view.text
    if before < REACH and "\n\n" in lines[start - before : start]:
        before = REACH
    if behind < REACH and "\n\n" in lines[end : end + behind]:
        behind = REACH
    return Nearness(
        *(exp(-gap / scale) if 0 <= gap < REACH else 0.0 for gap in (before, behind) for scale in (NEAR, FAR))
    )


NUMBER = lazy(r"[0-9]+")
MODEL = lazy(r"(?<![A-Za-z])[A-Z]{2,5}[ -]\Z")
"""Capitals that begin the name of a thing: HP 2775, KTX 117."""
TECHNICAL = lazy(r"[{}<>\[\]\\|;`]|[=(][^\s)]|[a-z][A-Z]|\w_\w|::|--")
"""What programs and their output have more of than sentences."""
SENTENCE = lazy(r"[.!?。！？\n](?=\s|[^\x00-\x7f]|\Z)")
MONEY = lazy(
    r"[ ]?(?:[$€£¥₫₽%°]|đ(?![^\W\d_])|usd|eur|vnd|руб|zł|kr|元|円|원|kg|km|cm|mm|gb|mb|mhz|ghz|h(?![^\W\d_]))",
    re.IGNORECASE,
)


def window(view: View, span: Span) -> str:
    """Return the text around a candidate in which words count. Nothing else does, so that a stream reads as the whole."""
    return view.text[max(0, span[0] - REACH) : span[1] + REACH]


def technical(text: str) -> float:
    """Return how much a text looks like that of a program or a log, from 0 to 1."""
    return min(1.0, 12 * len(TECHNICAL.findall(text)) / (len(text) + 40))


@cache
def words_of(*kinds: str) -> Kinds:
    """Return the words of some of `CLASSES`, but for those that are too frequent to be looked for in every text."""
    lists = [Kinds(table, *names) for kind in kinds for table, *names in CLASSES[kind] if table != "telling"]
    return reduce(or_, lists)


def is_near(view: View, span: Span, kinds: tuple[str, ...], reach: int = REACH) -> bool:
    """Tell whether a word of some kinds begins so near to a candidate."""
    places = words_of(*kinds).places(view)
    place = bisect_left(places, span[0] - reach)
    return place < len(places) and places[place] < span[1] + reach


def count_near(span: Span, spans: list[Span]) -> int:
    """Return how many of the candidates of a text, in order, stand around one, itself among them."""
    first = bisect_left(spans, (span[0] - REACH, 0))
    return bisect_left(spans, (span[1] + REACH, 0)) - first


def around(view: View, span: Span) -> list[float]:
    """Return the figures of what is around a candidate: of each kind of words, and of numbers and signs."""
    start, end = span
    text = view.text
    figures = [figure for found in kinds(view) for figure in nearness(view, found, start, end)]
    before, behind = text[max(0, start - 12) : start], text[end : end + 12]
    figures += [
        float(NUMBER.search(before) is not None),
        float(NUMBER.search(behind) is not None),
        float(before.rstrip(" \"'`«“")[-1:] in (":", "=", "→", ">")),
        float(before.rstrip(" ")[-1:] in (",", "(", "-")),
        float(behind.lstrip(" ")[:1] in ("", ".", ",", ";", "!", "?", ")", "\n")),
        float(MONEY.match(text, end) is not None),
        float(behind[:1] == " " and behind[1:2].isalpha()),
        float(start == 0 or text[start - 1] == "\n"),
        float(SENTENCE.search(text, max(0, start - 40), start) is not None),
        float(MODEL.search(text, max(0, start - 7), start) is not None),
        technical(window(view, span)),
    ]
    return figures


AROUND = (
    *(f"{kind} {side}" for kind in CLASSES for side in ("before", "before, far", "behind", "behind, far")),
    *(
        "number before",
        "number behind",
        "colon before",
        "comma before",
        "clause ends",
        "money behind",
        "word behind",
        "line begins",
        "sentence begins",
        "name of a thing",
        "technical",
    ),
)
"""What the figures of `around` are."""

PAIRED = (
    "password",
    "login",
    "user",
    "opens",
    "once",
    "pin",
    "plain",
    "lock",
    "press",
    "sent",
    "context",
    "other",
    "about",
)
PLACES = tuple(map(list(CLASSES).index, PAIRED))
"""Kinds that mean more beside one shape of candidate than beside another."""


def together(figures: list[float], shapes: list[float]) -> list[float]:
    """Return for each shape and kind of words how near such words stand to a candidate of that shape."""
    near = [max(figures[4 * place + 1], figures[4 * place + 3]) for place in PLACES]
    return [shape * figure for shape in shapes for figure in near]
