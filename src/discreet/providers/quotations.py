"""Choose the statements that a summary quotes: what says the most for its length, and nothing twice."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from discreet.ports import TokenCounter

Kind = Literal["fact", "remark", "question", "decision", "summary"]

WORTH: Mapping[Kind, float] = {"fact": 1.0, "decision": 1.0, "summary": 1.0, "remark": 0.6, "question": 0.3}
"""What a word of a statement counts. A question says what somebody does not know, a fact about the user what will matter."""

TELLING = 1.5
"""How much more a statement counts that has a number, a placeholder or a name: what is asked for later is mostly one."""

LEAST_WORDS = 2
"""A statement with fewer words that were not quoted before waits until all others had their choice of the room."""

LEAST_TOKENS = 6
"""A shorter remark ("Hey Mel!") says nothing."""

OVERHEAD_TOKENS = 6
"""Added to the length that a statement's worth is divided by, so that scraps don't win over sentences."""

LEAST_VALUE = 0.4
"""What is worth less for its length than this share of the best waits too; a remark or a question is left out."""

SAME_SHARE = 1 / 3
"""Of two statements that have this share of their words in common one may be the update of the other: "I live in Hanoi.", "I
live in Berlin now." """

ANSWER, OPEN, CLOSE = "→ ", "“", "”"

_NO_QUOTES = {ord(OPEN): '"', ord(CLOSE): '"'}
_EDGES = "\"'‘’«».,;:!…()。，；：！、（）"  # full-width: Chinese
"""Marks around a word that make no other statement of it. A question mark does, or a sign in front of a number."""
_FIGURE = re.compile(r"\d|<[A-Z][A-Z0-9_:]*>")


@dataclass(frozen=True)
class Statement:
    """One sentence, or its first clauses."""

    text: str
    kind: Kind
    words: frozenset[str] = field(repr=False)
    """The stems of those that say something; its worth is counted by them."""

    @cached_property
    def wording(self) -> tuple[str, ...]:
        """All its words as they were said. Only who says the same in the same order says nothing new: "not" is a word too."""
        pieces = self.text.translate(_NO_QUOTES).casefold().split()
        return tuple(filter(None, (piece.strip(_EDGES) for piece in pieces)))

    @cached_property
    def weight(self) -> float:
        """What each of its words counts."""
        return WORTH[self.kind] * (TELLING if _FIGURE.search(self.text) or _names_something(self.text) else 1.0)

    @property
    def quoted(self) -> str:
        """The statement as it stands in the summary."""
        if self.kind == "summary":
            return self.text
        return f"{ANSWER if self.kind == 'decision' else ''}{OPEN}{self.text.translate(_NO_QUOTES)}{CLOSE}"

    def may_update(self, older: Statement) -> bool:
        """Whether it says so much the same that it may be meant instead of an older one. A question replaces no statement."""
        if self.kind == "question" and older.kind != "question":
            return False
        return len(self.words & older.words) >= SAME_SHARE * max(len(self.words), len(older.words))


def choose(
    found: Sequence[Statement], count_tokens: TokenCounter, left: int, *, before: Sequence[Statement] = ()
) -> list[Statement]:
    """Return, in their order, those of `found` that fit in `left` tokens beside what was told `before`.

    First those that say the most for their length, each by the words that others have not said. An update counts as if what
    it updates had not been told, and comes before it. The room that is left gets, newest first, what says little more than
    that: all that differs in a word at least. Of what was said twice the last is told.
    """
    rarity = _rarity([*before, *found])
    found = _without_repetitions(found, before)
    costs = [count_tokens(f" {each.quoted}") for each in found]
    told: set[str] = set()
    told_or_before = {word for each in before for word in each.words}
    seen = [told if any(each.may_update(older) for older in before) else told_or_before for each in found]
    chosen: set[int] = set()

    def value(place: int, known: AbstractSet[str] = frozenset()) -> float:
        """What a statement is worth for its length, beyond the `known` words; nothing if it can't be taken."""
        each = found[place]
        if place in chosen or costs[place] > left or (each.kind == "remark" and costs[place] < LEAST_TOKENS):
            return 0.0
        return _worth(each, rarity, known) / (costs[place] + OVERHEAD_TOKENS)

    def new_value(place: int) -> float:
        known = seen[place]
        return value(place, known) if len(found[place].words - known) >= LEAST_WORDS else 0.0

    def take(place: int) -> int:
        chosen.add(place)
        told.update(found[place].words)
        told_or_before.update(found[place].words)
        return left - costs[place]

    places = range(len(found))
    own = [value(place) for place in places]
    enough = LEAST_VALUE * max(own, default=0.0)
    least = 0.0
    while (best := max(values := [new_value(place) for place in places], default=0.0)) > least:
        least = least or best * LEAST_VALUE
        place = values.index(best)
        left = take(_newest(place, [later for later in places[place + 1 :] if value(later)], found))
    for place in reversed(places):
        if value(place) and (own[place] >= enough or found[place].kind not in {"remark", "question"}):
            left = take(place)
    return [found[place] for place in sorted(chosen)]


def _newest(place: int, later: Sequence[int], found: Sequence[Statement]) -> int:
    """Return the last place of what may update the statement at `place`, else `place`."""
    return next((each for each in reversed(later) if found[each].may_update(found[place])), place)


def _without_repetitions(found: Sequence[Statement], before: Sequence[Statement]) -> list[Statement]:
    """Return `found` without what is said again later, or was told `before` and not updated since."""
    once = list({each.wording: each for each in reversed(found)}.values())[::-1]
    known = {each.wording for each in before}
    return [
        each
        for place, each in enumerate(once)
        if each.wording not in known or not _stands(each, [*before, *once[:place]])
    ]


def _stands(statement: Statement, told: Sequence[Statement]) -> bool:
    """Whether `statement` was told, and nothing since that may update it."""
    about_it = (each for each in reversed(told) if each.wording == statement.wording or each.may_update(statement))
    return next(about_it).wording == statement.wording


def _worth(statement: Statement, rarity: Mapping[str, float], known: AbstractSet[str]) -> float:
    return statement.weight * math.fsum(rarity[word] for word in statement.words - known)


def _rarity(statements: Sequence[Statement]) -> dict[str, float]:
    """Return for each word of a thread how rare it is there."""
    counts = Counter(word for each in statements for word in each.words)
    return {word: math.log(1 + len(statements) / count) for word, count in counts.items()}


def _names_something(text: str) -> bool:
    """Whether a word after the first begins with a capital; "I" is none."""
    return any(word[0].isupper() and word.split("'")[0] != "I" for word in text.replace("’", "'").split()[1:])
