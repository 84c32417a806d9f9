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


_STRONG_REACH = 0.2


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

    @property
    def least(self) -> float:
        """Below it only the same words are not new."""
        return self.similar - _STRONG_REACH

    def __post_init__(self) -> None:
        if not 0 <= self.similar <= self.same <= 1:
            raise ConfigurationError("Dedup thresholds need 0 <= similar <= same <= 1.")


_DEFAULT = DedupThresholds()
_MEDIUM_REACH = 0.12


def judge(new: str, old: str, similarity: float, thresholds: DedupThresholds = _DEFAULT) -> Verdict:
    """Return what `new` is to the stored `old`; `similarity` is the calibrated one of their vectors, 0 to 1."""
    after, before = wording(new), wording(old)
    if after.units == before.units:
        return "same"
    if similarity < thresholds.least or _of_others(after, before):
        return "new"
    polarity = _negative(after) != _negative(before)
    strength = 0 if "addition" in after.marks else _evidence(after, before, polarity=polarity)
    merges = not polarity and _says_no_less(after, before) and not _swaps(after, before)
    if merges and similarity >= thresholds.same and after.numbers == before.numbers and after.names == before.names:
        return "same"
    if similarity >= thresholds.similar and (merges or strength >= 2):
        return "update"
    if strength >= 2 or (strength == 1 and similarity >= thresholds.similar - _MEDIUM_REACH):
        return "conflict"
    return "new"


def _negative(reading: Wording) -> bool:
    return bool(reading.marks & {"negation", "ended"})


def _of_others(after: Wording, before: Wording) -> bool:
    """Whether the facts are about different people or animals."""
    if "marriage" not in after.single & before.single and (
        after.subject - before.people or before.subject - after.people
    ):
        return True
    if after.known_as and before.known_as and after.known_as.isdisjoint(before.known_as):
        return True
    return bool(after.lead and before.lead and after.lead not in before.content and before.lead not in after.content)


def _evidence(after: Wording, before: Wording, *, polarity: bool) -> int:
    """Return how sure it is that both can't hold: 0 not at all, 1 perhaps, 2 quite."""
    changed = bool(after.marks & {"change", "ended"})
    topic = after.single & before.single
    words, words_before = set(after.content), set(before.content)
    shared = words & words_before
    numbers = bool(after.numbers - before.numbers and before.numbers - after.numbers)
    if numbers and _years(after) and _years(before) and _years(after).isdisjoint(_years(before)):
        return 0
    if (topic and changed) or (
        polarity and shared and (changed or not (words - words_before and words_before - words))
    ):
        return 2
    if numbers and words == words_before:
        return 2
    if topic or ((changed or polarity) and shared):
        return 1
    return 0


def _years(reading: Wording) -> set[str]:
    return {number for number in reading.numbers if len(number) == 4 and number[:2] in {"19", "20"}}


def _says_no_less(after: Wording, before: Wording) -> bool:
    """Whether no number, name or person of the stored fact is missing in the new one."""
    return (
        before.numbers <= after.numbers
        and before.names <= {*after.names, *after.units}
        and before.people <= after.people
    )


def _swaps(after: Wording, before: Wording) -> bool:
    """Whether one has other words where all else is equal: another value in the same sentence."""
    first, second = after.content, before.content
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    middle, other = first[start : len(first) - end], second[start : len(second) - end]
    return bool(middle and other and set(middle).isdisjoint(other) and start + end)
