"""Decide what a new fact is to a stored one of the same person. Pure: cosine of the vectors and words, no model.

The cosine of a sentence tells what a fact is about, not what it says: "lives in Hanoi" is as near to "moved to Da Nang"
as "has a daughter Lan" is to "has a son Minh". So numbers, names, people, negation and words of change are compared too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.errors import ConfigurationError
from discreet.retrieval.stopwords import STOP_WORDS
from discreet.retrieval.wording import Wording, wording

Verdict = Literal["same", "update", "conflict", "new"]
"""`same`: the stored fact is said again. `update`: the new one takes its place. `conflict`: both can't hold, or it can't
be told. `new`: nothing to do with each other."""


@dataclass(frozen=True, kw_only=True)
class DedupThresholds:
    """Calibrated similarities, 0 to 1.

    Raises:
        ConfigurationError: They are not in order.
    """

    same: float = 0.95
    """From here on a fact without any difference that counts is the same."""
    similar: float = 0.85
    """From here on the new wording takes the place of the stored one."""

    def __post_init__(self) -> None:
        if not 0 <= self.similar <= self.same <= 1:
            raise ConfigurationError("Dedup thresholds need 0 <= similar <= same <= 1.")


_DEFAULT = DedupThresholds()
_QUITE_REACH = 0.3
_PERHAPS_REACH = 0.12
_EQUAL_WORDS = 0.1
_QUITE, _LIKELY, _PERHAPS, _NOT = 3, 2, 1, 0


def judge(new: str, old: str, similarity: float, thresholds: DedupThresholds = _DEFAULT) -> Verdict:
    """Return what `new` is to the stored `old`; `similarity` is the calibrated one of their vectors, 0 to 1."""
    if new == old:
        return "same"
    if similarity < thresholds.similar - _QUITE_REACH:
        return "new"
    after, before = wording(new), wording(old)
    if after.units == before.units:
        return "same"
    if _of_others(after, before):
        return "new"
    opposite = _negative(after) != _negative(before) or _turned_round(after, before)
    if not opposite and _says_no_less(after, before) and not _swaps(after, before):
        equal = set(after.content) == set(before.content)
        if similarity >= thresholds.same and after.numbers == before.numbers and after.names == before.names:
            return "same"
        if similarity >= thresholds.similar - equal * _EQUAL_WORDS:
            return "update"
    sure = _exclude_each_other(after, before, opposite=opposite)
    if sure == _QUITE:
        return "update" if similarity >= thresholds.similar else "conflict"
    if sure == _LIKELY:
        return "conflict"
    return "conflict" if sure == _PERHAPS and similarity >= thresholds.similar - _PERHAPS_REACH else "new"


def _negative(reading: Wording) -> bool:
    return not reading.marks.isdisjoint({"negation", "ended"})


def _turned_round(after: Wording, before: Wording) -> bool:
    """Whether a comparison has its sides exchanged."""
    return (
        "comparison" in after.marks & before.marks
        and after.content != before.content
        and sorted(after.units) == sorted(before.units)
    )


def _of_others(after: Wording, before: Wording) -> bool:
    """Whether the facts are about different people or animals."""
    if (after.subject - before.people or before.subject - after.people) and not ("marriage" in after.states and "marriage" in before.states):
        return True
    one, other = after.called.get("several"), before.called.get("several")
    if one and other and one.isdisjoint(other):
        return True
    return bool(
        after.lead and before.lead and after.lead.isdisjoint(before.units) and before.lead.isdisjoint(after.units)
    )


def _exclude_each_other(after: Wording, before: Wording, *, opposite: bool) -> int:
    """Return how sure it is that both facts can't hold."""
    words, words_before = set(after.content), set(before.content)
    said, said_before = _specific(after), _specific(before)
    gained, lost = said - words_before, said_before - words
    named, unnamed = after.names - before.names - after.lead, before.names - after.names - before.lead
    changed = not after.marks.isdisjoint({"change", "ended", "replaced"})
    in_common = _tells(said & said_before) or bool(after.names & before.names - after.lead - before.lead)
    topic = after.single & before.single
    if (gained and lost) or (named and unnamed):
        topic -= _EVENTS
    other_state = _other(after.states, before.states) or (in_common and _other(after.scales, before.scales))
    if after.numbers != before.numbers and words == words_before:
        return _QUITE if topic or other_state or changed else _PERHAPS
    if not after.marks.isdisjoint({"addition", "past"}) or _years_apart(after, before):
        return _NOT
    if (other_state and changed) or topic and (changed or ("residence" in topic and named and unnamed)):
        return _QUITE
    if opposite and not (gained and lost) and (in_common or after.people & before.people):
        return _QUITE
    if (opposite or changed) and in_common and not gained:
        return _QUITE
    if opposite and changed and in_common:
        return _LIKELY
    more, less = after.numbers - before.numbers, before.numbers - after.numbers
    apart = (gained and lost) or (named and unnamed) or (more and less)
    if other_state or (topic and apart and bool(named) == bool(unnamed) and bool(more) == bool(less)):
        return _PERHAPS
    one, other = after.called.get("one"), before.called.get("one")
    chosen = "choice" in after.marks & before.marks
    if ((changed or opposite or chosen) and in_common) or (one and other and one != other):
        return _PERHAPS
    if more and less and not lost and not unnamed and (in_common or (not gained and words & words_before)):
        return _PERHAPS
    return _PERHAPS if "replaced" in after.marks or _other_value(after, before) else _NOT


def _other(after: dict[str, set[str]], before: dict[str, set[str]]) -> bool:
    """Whether both name a state or an end of a scale, and not the same."""
    return any(values.isdisjoint(before[thing]) for thing, values in after.items() if thing in before)


_EVENTS = frozenset({"appointment", "flight", "deadline"})
"""Of these there may be several, for several purposes or with several people."""


def _specific(reading: Wording) -> set[str]:
    """Return the words that say what is said: no names, no people, none of a group of words alike."""
    return {
        word
        for word in reading.content
        if word[0] != "=" and word not in reading.names and word not in reading.lead and word not in STOP_WORDS
    }


def _tells(words: set[str]) -> bool:
    """Whether the texts have a word in common: one Han character is not enough."""
    return len(words) > 1 or any(len(word) > 1 for word in words)


def _other_value(after: Wording, before: Wording) -> bool:
    """Whether both say what one and the same thing is: the same words up to "is", others behind."""
    for link in after.links:
        head = after.content[:link]
        if link in before.links and head == before.content[:link] and any(word[0] != "=" for word in head):
            return bool(after.content[link:] and before.content[link:])
    return False


def _years_apart(after: Wording, before: Wording) -> bool:
    """Whether each names a year that the other does not: two events, even if all else is equal."""
    first, second = _years(after), _years(before)
    return bool(first - second and second - first)


def _years(reading: Wording) -> set[str]:
    return {number for number in reading.numbers if number.startswith(("19", "20")) and len(number) == len("2000")}


def _says_no_less(after: Wording, before: Wording) -> bool:
    """Whether no number, name or person of the stored fact is missing in the new one."""
    return (
        before.numbers <= after.numbers
        and before.names <= after.names.union(after.units)
        and before.people <= after.people
    )


def _swaps(after: Wording, before: Wording) -> bool:
    """Whether one has other words where all else is equal, or they have too little in common to say the same."""
    said, said_before = _specific(after), _specific(before)
    roots, roots_before = _roots(after.content), _roots(before.content)
    gained = sum(_root(word) not in roots_before for word in said)
    lost = sum(_root(word) not in roots for word in said_before)
    if lost * 3 > len(said_before) and not gained:
        return True
    if lost and gained and lost * 2 >= len(said_before) and gained * 2 >= len(said):
        return True
    first, second = _without_small(after.content), _without_small(before.content)
    shorter = min(len(first), len(second))
    start = 0
    while start < shorter and first[start] == second[start]:
        start += 1
    end = 0
    while end < shorter - start and first[-1 - end] == second[-1 - end]:
        end += 1
    middle, other = first[start : len(first) - end], second[start : len(second) - end]
    if not _tell(middle) or not _tell(other):
        return False
    if start + end >= max(len(middle), len(other)) and _few_han(middle, other):
        return _tell([*set(middle) - set(other)]) and _tell([*set(other) - set(middle)])
    return {_root(word, 4) for word in middle}.isdisjoint(_root(word, 4) for word in other)


def _tell(words: list[str]) -> bool:
    return any(word[0] != "=" or len(word) > 2 for word in words)


_ROOT = 5


def _roots(words: list[str]) -> set[str]:
    return {_root(word) for word in words}


def _root(word: str, length: int = _ROOT) -> str:
    return word if word[0] == "=" or "/" in word else word[:length]


def _few_han(first: list[str], second: list[str]) -> bool:
    return len(first) < 7 > len(second) and all(len(word) == 1 or word[0] == "=" for word in first + second)


def _without_small(words: list[str]) -> list[str]:
    return [word for word in words if word not in _SMALL]


_SMALL = frozenset({"=have", "=called"})
