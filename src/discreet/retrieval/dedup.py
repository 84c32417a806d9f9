"""Decide what a new fact is to a stored one of the same person. Pure: cosine of the vectors and words, no model.

The cosine of a sentence tells what a fact is about, not what it says: "lives in Hanoi" is as near to "moved to Da Nang"
as "has a daughter Lan" is to "has a son Minh". So numbers, names, people, negation and words of change are compared too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.errors import ConfigurationError
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
_QUITE_REACH = 0.2
_PERHAPS_REACH = 0.12
_EQUAL_WORDS = 0.1
_QUITE, _PERHAPS, _NOT = 2, 1, 0


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
    merges = not opposite and _says_no_less(after, before) and not _swaps(after, before)
    if merges:
        equal = set(after.content) == set(before.content)
        if similarity >= thresholds.same and after.numbers == before.numbers and after.names == before.names:
            return "same"
        if similarity >= thresholds.similar - equal * _EQUAL_WORDS:
            return "update"
    sure = _exclude_each_other(after, before, opposite=opposite)
    if sure == _QUITE:
        return "update" if similarity >= thresholds.similar else "conflict"
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
    if (after.subject - before.people or before.subject - after.people) and "marriage" not in after.single & before.single:
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
    if after.numbers != before.numbers and words == words_before:
        return _QUITE
    if "addition" in after.marks or "past" in after.marks or _years_apart(after, before):
        return _NOT
    changed = not after.marks.isdisjoint({"change", "ended"})
    topic = after.single & before.single
    shared = _weight((words & words_before) - after.lead - before.lead)
    if topic and (changed or "residence" in topic):
        return _QUITE
    if opposite and shared and (changed or not (words - words_before and words_before - words)):
        return _QUITE
    one, other = after.called.get("one"), before.called.get("one")
    if topic or ((changed or opposite) and shared) or (one and other and one != other):
        return _PERHAPS
    return _NOT


def _weight(words: set[str]) -> bool:
    """Whether there is a word in common: one Han character is not enough."""
    return len(words) > 1 or any(len(word) > 1 for word in words)


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
    """Whether one has other words where all else is equal, or they have no word in common."""
    first, second = after.content, before.content
    shorter = min(len(first), len(second))
    start = 0
    while start < shorter and first[start] == second[start]:
        start += 1
    end = 0
    while end < shorter - start and first[-1 - end] == second[-1 - end]:
        end += 1
    middle, other = first[start : len(first) - end], second[start : len(second) - end]
    return bool(middle and other and set(middle).isdisjoint(other))
