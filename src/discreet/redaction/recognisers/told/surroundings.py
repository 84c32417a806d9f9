"""What stands around a number or a word that may be a code or a password, as figures that a model weighs."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from math import exp
from typing import NamedTuple

from discreet.redaction.lazy_pattern import lazy
from discreet.redaction.recognisers.told.names import Names
from discreet.redaction.view import Span, View
from discreet.redaction.word_set import small
from discreet.redaction.words import whole, words

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


class Kind:
    """Finds the words of one kind in a text."""

    def __init__(self, name: str) -> None:
        entries = tuple(word for table, *lists in CLASSES[name] for word in words(table, *lists))
        self._names = Names(entries)
        self._pattern = lazy(whole(entries))

    def spans(self, view: View) -> tuple[list[int], list[int]]:
        """Return where words begin, and where they end, in order."""
        return view.once(self, lambda: self._spans(view))

    def _spans(self, view: View) -> tuple[list[int], list[int]]:
        lowered = view.derived(small)
        starts: list[int] = []
        ends: list[int] = []
        for place in self._names.places(view):
            if (not ends or place >= ends[-1]) and (match := self._pattern.match(lowered, place)):
                starts.append(place)
                ends.append(match.end())
        return starts, ends


@cache
def kinds() -> tuple[Kind, ...]:
    """Return one for each of `CLASSES`."""
    return tuple(map(Kind, CLASSES))


class Nearness(NamedTuple):
    """How near the nearest word of a kind stands before a candidate and behind it: 1 beside it, 0 out of reach."""

    before: float
    before_far: float
    behind: float
    behind_far: float


def nearness(view: View, kind: Kind, start: int, end: int) -> Nearness:
    """Return it for a candidate from `start` to `end`."""
    starts, ends = kind.spans(view)
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


def technical(text: str) -> float:
    """Return how much a text looks like that of a program or a log, from 0 to 1; for `View.derived`."""
    return min(1.0, 12 * len(TECHNICAL.findall(text)) / (len(text) + 40))


def around(view: View, span: Span) -> list[float]:
    """Return the figures of what is around a candidate: of each kind of words, and of numbers and signs."""
    start, end = span
    text = view.text
    figures = [figure for kind in kinds() for figure in nearness(view, kind, start, end)]
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
        view.derived(technical),
    ]
    return figures


NAMES = (
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
