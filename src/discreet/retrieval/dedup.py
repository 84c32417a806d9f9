"""Decide what a new fact is to a stored one of the same person. Pure: the cosine of their vectors and their words.

The cosine tells what a sentence is about, not what it says: "moved to Da Nang" is no nearer to "lives in Hanoi" than "has
a son Minh" is to "has a daughter Lan" (benchmarks/dedup.py prints the quartiles). So words decide what kind of pair it is,
and the cosine whether it is near enough. In doubt both facts stay: a duplicate costs a row, a wrong merge a memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

from discreet.errors import ConfigurationError
from discreet.retrieval.clauses import statements
from discreet.retrieval.contradiction import CONTRADICTS, Doubt, exclude_each_other, have_little_in_common
from discreet.retrieval.fact_features import Wording, wording
from discreet.retrieval.merge_rules import Rewording, says_in_other_words, says_no_less, told_apart

Verdict = Literal["same", "update", "conflict", "new"]
"""`same`: the stored fact is said again. `update`: the new one takes its place. `conflict`: both can't hold, or perhaps
can't; both stay. `new`: they have nothing to do with each other."""


_USUAL = 0.85
"""Where the rules were fitted."""


@dataclass(frozen=True, kw_only=True)
class DedupThresholds:
    """Calibrated similarities, 0 to 1, that decide about pairs of facts.

    Raises:
        ConfigurationError: They are not in order.
    """

    same: float = 0.95
    """From here on a fact that differs in nothing that counts is the same."""
    similar: float = _USUAL
    """From here on the new wording takes the place of the stored one."""

    @property
    def least(self) -> float:
        """Below it only the same words are not new."""
        return self.similar - _REACH["none"]

    def least_for(self, rewording: Rewording) -> float:
        """Return from where on other words for the same are taken for it: below `similar`, the less the nearer to 1 that is."""
        return self.similar - _REWORDED[rewording] * min(1.0, (1 - self.similar) / (1 - _USUAL))

    def __post_init__(self) -> None:
        if not 0 <= self.similar <= self.same <= 1:
            raise ConfigurationError(
                f"Dedup thresholds must be in order, 0 <= similar <= same <= 1; they are {self.similar} and {self.same}."
            )


_DEFAULT = DedupThresholds()

_EQUAL_WORDS = 0.1
"""So far below `similar` a fact of the very same words, up to order and words alike, still takes the other's place."""
_REACH: dict[Doubt, float] = {"none": 0.3, "likely": 0.3, "little": 0.2, "much": 0.12}
"""How far below `similar` two facts are told to exclude each other, by how doubtful that is. They must share words or a state
besides, so that the first may reach down to texts that are less alike: "stopped running because of my knee" has a cosine
of .2 to "runs 5 km every morning", and "I moved to Berlin" one of .25 to a sentence of name, home and taste."""


_REWORDED: dict[Rewording, float] = {"equal": 0.25, "more": 0.12, "less": 0.1, "turned": 0.02}
"""How far below `similar` other words for the same are taken for it, by how much more or less they say."""


def judge(new: str, old: str, similarity: float, thresholds: DedupThresholds = _DEFAULT) -> Verdict:
    """Return what `new` is to the stored `old`; `similarity` is the calibrated one of their vectors, 0 to 1.

    Of a text of several statements each is compared; that one of them changes is a conflict, so that the others stay.

    Example:
        >>> judge("User moved to Da Nang.", "User lives in Hanoi.", 0.9)
        'update'
        >>> judge("Has a son Minh, born 2018", "Has a daughter Lan, born 2015", 0.9)
        'new'
    """
    if new.casefold().split() == old.casefold().split():
        return "same"
    after = wording(new)
    if not _worth_reading(after, similarity, thresholds) or have_little_in_common(
        after, before := wording(old), lacking=thresholds.similar - similarity
    ):
        return "new"
    verdict = _judged(after, before, similarity, thresholds)
    if verdict == "same":
        return verdict
    parts, parts_before = statements(new), statements(old)
    if verdict == "update":  # what the stored one says besides would end with it
        return verdict if len(parts_before) == 1 or says_no_less(after, before) else "conflict"
    if verdict == "conflict" or len(parts) == len(parts_before) == 1:
        return verdict
    pairs = product(map(wording, parts), map(wording, parts_before))
    worth = (pair for pair in pairs if _worth_reading(pair[0], similarity, thresholds))
    return (
        "conflict"
        if any(_judged(*pair, similarity, thresholds) in ("update", "conflict") for pair in worth)
        else verdict
    )


def _judged(after: Wording, before: Wording, similarity: float, thresholds: DedupThresholds) -> Verdict:
    """Return what one statement is to another."""
    if after.units and after.units == before.units and after.names == before.names:
        return "same"
    if _of_others(after, before):
        given_away = "ended" in after.marks and "ended" not in before.marks and _named_alike(after, before)
        return "conflict" if given_away else "new"
    apart = told_apart(after, before) or _said_besides(after, before)
    opposite = after.negative != before.negative or _turned_round(after, before)
    if (
        not apart
        and not opposite
        and similarity >= _least_to_merge(after, before, thresholds)
        and says_no_less(after, before)
    ):
        less = after.said < before.said
        return "same" if (less or similarity >= thresholds.same) and _nothing_new(after, before) else "update"
    if not apart and similarity >= thresholds.least_for("equal"):
        rewording = says_in_other_words(after, before)
        if rewording is not None and similarity >= thresholds.least_for(rewording):
            return "same" if rewording == "less" else "update"
    lacking = thresholds.similar - similarity
    verdict = _excluded(exclude_each_other(after, before, opposite=opposite, lacking=lacking), similarity, thresholds)
    certain = not apart and after.people == before.people and after.lead == before.lead
    return "conflict" if verdict == "update" and not certain else verdict


def _worth_reading(after: Wording, similarity: float, thresholds: DedupThresholds) -> bool:
    """Whether the new fact can be more than `new` to a stored one of this similarity. Most are told apart so."""
    reach = (
        max(_REACH["much"], thresholds.similar - thresholds.least_for("equal"))
        if after.marks.isdisjoint(CONTRADICTS) and "residence" not in after.single
        else _REACH["none"]
    )
    return similarity >= thresholds.similar - reach


def _least_to_merge(after: Wording, before: Wording, thresholds: DedupThresholds) -> float:
    """Return the similarity from which on the new wording takes the place of the stored one."""
    equal = (after.said or after.names) and set(after.content) == set(before.content)
    return thresholds.similar - (_EQUAL_WORDS if equal else 0)


def _excluded(doubt: Doubt | None, similarity: float, thresholds: DedupThresholds) -> Verdict:
    if doubt is None or similarity < thresholds.similar - _REACH[doubt]:
        return "new"
    return "update" if doubt == "none" and similarity >= thresholds.similar else "conflict"


def _nothing_new(after: Wording, before: Wording) -> bool:
    """Whether the new fact has no number, name, person, word of change or other word for one of the stored fact."""
    return (
        after.numbers == before.numbers
        and _figures(after) == _figures(before)
        and after.names == before.names
        and after.people == before.people
        and not (after.marks - before.marks) & CONTRADICTS
        and (after.said <= set(before.content) or before.said <= set(after.content))
    )


def _figures(reading: Wording) -> list[str]:
    """Return what is written in digits, in its order: a two of "2 of 2" is none of "1 of 2"."""
    return [unit for unit in reading.units if any(character.isdigit() for character in unit)]


def _turned_round(after: Wording, before: Wording) -> bool:
    """Whether they are the same words with the sides of a comparison or of a "but not" exchanged."""
    return (
        not after.marks.isdisjoint({"comparison", "negation"})
        and after.content != before.content
        and sorted(after.units) == sorted(before.units)
    )


def _of_others(after: Wording, before: Wording) -> bool:
    """Whether the facts are about different people or animals."""
    whom, whom_before = after.subject - _TRADES, before.subject - _TRADES
    if _speaks_of_marriage(after) and _speaks_of_marriage(before):
        whom, whom_before = whom - _PARTNERS, whom_before - _PARTNERS
    if whom - before.people or whom_before - after.people:
        return True
    one, other = after.called.get("several"), before.called.get("several")
    if one and other and one.isdisjoint(other):
        return True
    return bool(
        after.lead and before.lead and after.lead.isdisjoint(before.units) and before.lead.isdisjoint(after.units)
    )


def _named_alike(after: Wording, before: Wording) -> bool:
    """Whether both speak of something by the same name, or by two of the same words."""
    names = (after.names | after.lead) & (before.names | before.lead)
    return bool(names) or len(after.said & before.said) > 1


def _said_besides(after: Wording, before: Wording) -> bool:
    """Whether the new fact adds a number, day or name to what it says that holds too: "on Friday, as on Monday"."""
    return "addition" in after.marks - before.marks and not (
        after.numbers <= before.numbers and after.names <= before.names
    )


def _speaks_of_marriage(reading: Wording) -> bool:
    return "marriage" in reading.states or not reading.people.isdisjoint(_PARTNERS)


_TRADES = frozenset({"doctor", "dentist", "therapist", "teacher", "landlord", "boss"})
"""Words for people that may as well tell what somebody works as."""
_PARTNERS = frozenset({"wife", "husband", "partner"})
