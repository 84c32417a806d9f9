"""Whether two facts about the same person or thing can't both hold, by their words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from discreet.retrieval.fact_features import Wording, weight_of
from discreet.retrieval.merge_rules import has_another_form, names_another, told_apart

Doubt = Literal["none", "likely", "little", "much"]
"""How doubtful it is that two facts exclude each other. From `likely` on both stay, however near they are."""

_CHANGE = frozenset({"change", "ended", "replaced"})
_MAY_CHANGE = _CHANGE | {"gain"}
CONTRADICTS = _MAY_CHANGE | {"negation"}
"""Lists whose words say that what held does not hold."""
_BESIDE = frozenset({"addition", "past"})
"""Lists whose words say that the new fact holds beside the old one."""
_NOT_YET = frozenset({"not_yet"})
"""Classes of contrasts.toml whose words say that something never was, or is only meant to be."""
_MEASURES = frozenset(
    {"age", "weight", "height", "rising", "bedtime", "budget", "rent", "salary", "size", "phone", "address", "email"}
)
"""What has one number at a time: another one takes its place."""
_PLAIN = _MEASURES | {"residence", "called", "favourite", "bank"}
"""Of these another value needs no word of change."""
_PARTNERS = frozenset({"wife", "husband", "partner"})
_EVENTS = frozenset({"appointment", "flight", "deadline"})
"""Of these there may be several, for several purposes or with several people."""

_IN_COMMON = 0.3
"""Facts are about the same thing if they share so much of what the shorter one says. One word of many is chance: of the
pairs of a life that were flagged with less, next to none was a contradiction (`benchmarks/dedup.py`)."""

_ALIKE = 0.1
"""The same of facts whose similarity lacks nothing; for each tenth that it lacks they must share another tenth. With less the
lives of benchmarks/retrieval_sets have a third more flags, and no more of their updates."""


@dataclass(slots=True)
class _Difference:
    """What the new fact has that the stored one has not, and the other way round."""

    gained: set[str]
    lost: set[str]
    names: set[str]
    old_names: set[str]
    numbers: set[str]
    old_numbers: set[str]

    @property
    def other_words(self) -> bool:
        return bool(self.gained and self.lost)

    @property
    def other_names(self) -> bool:
        return bool(self.names and self.old_names)

    @property
    def other_numbers(self) -> bool:
        return bool(self.numbers and self.old_numbers)

    @property
    def any(self) -> bool:
        return self.other_words or self.other_names or self.other_numbers or (bool(self.names) and not self.old_names)

    @property
    def of_one_kind(self) -> bool:
        """Whether one value stands for another of its kind: a name for a name, a number for a number, else words."""
        return (
            (self.other_words or self.other_names or self.other_numbers)
            and bool(self.names) == bool(self.old_names)
            and bool(self.numbers) == bool(self.old_numbers)
        )


def have_little_in_common(after: Wording, before: Wording, *, lacking: float) -> bool:
    """Whether they share too few words to be about the same thing, and no people, topics, states or scales.

    Most pairs do, and need no more looking at.
    """
    return bool(
        after.said
        and before.said
        and after.single.isdisjoint(before.single)
        and after.people.isdisjoint(before.people)
        and after.states.keys().isdisjoint(before.states)
        and after.scales.keys().isdisjoint(before.scales)
        and not ("occupation" in after.contrasts and "occupation" in before.contrasts)
        and "replaced" not in after.marks
        and _share(after, before, _shared(after, before)) < min(_IN_COMMON, lacking + _ALIKE)
    )


def _share(after: Wording, before: Wording, shared: set[str]) -> float:
    """Return how much of what the shorter one says the other one says as well."""
    common = shared or (said if _enough(said := after.said & before.said) else set())
    if not common:
        return 0.0
    return weight_of(common) / max(1, min(after.weight, before.weight))


def exclude_each_other(after: Wording, before: Wording, *, opposite: bool, lacking: float) -> Doubt | None:
    """Return how doubtful it is that `after` and `before` can't both hold; None if they can.

    `opposite` tells that one of them denies something, `lacking` how far their similarity is below what facts that say the
    same have: the more, the more words must they share to be about the same thing.
    """
    pair = _compared(after, before, opposite=opposite, lacking=lacking)
    if _years_apart(after, before):
        return None
    if pair.counted_anew:
        measured = not (after.single & before.single).isdisjoint(_MEASURES)
        return "none" if measured or (pair.changed and pair.about_one_thing) else "much"
    if not after.marks.isdisjoint(_BESIDE):
        return "likely" if pair.happened else None
    rules: tuple[tuple[Doubt, Callable[[_Compared], bool]], ...] = (
        ("none", _certain),
        ("likely", _likely),
        ("little", _rather),
        ("much", _perhaps),
    )
    return next((doubt for doubt, holds in rules if holds(pair)), None)


@dataclass(slots=True)
class _Compared:
    """Two facts and what their words have to do with each other."""

    after: Wording
    before: Wording
    differ: _Difference
    shared: set[str]
    """Roots of words and names that both have, up to the name that both begin with."""
    opposite: bool
    in_common: bool
    """Whether they share enough words to be about the same thing."""
    alike: bool
    """Whether they do, or their vectors are the nearer the fewer words they share."""
    other_state: bool
    """Whether they name other values of one state or scale."""
    topic: bool
    """Whether both speak of something that a person has one of at a time."""
    changed: bool
    """Whether the new one has a word of change that the stored one has not."""
    perhaps_changed: bool
    """Whether it has one of those, or one of something that came."""

    @property
    def about_one_thing(self) -> bool:
        return self.topic or self.other_state

    @property
    def counted_anew(self) -> bool:
        """Whether it is the same up to numbers."""
        after, before = self.after, self.before
        if after.numbers == before.numbers or not (after.numbers and before.numbers):
            return False
        alike = after.senses == before.senses and after.names == before.names and after.people == before.people
        return alike or set(after.content) == set(before.content)

    @property
    def happened(self) -> bool:
        """Whether something is told that had never been, or was only meant to be."""
        if not self.alike:
            return False
        not_yet = not self.after.denied and not _NOT_YET.isdisjoint(self.before.contrasts)
        return not_yet or (self.opposite and self.perhaps_changed and len(self.shared) > 1)

    @property
    def lives_elsewhere(self) -> bool:
        return "residence" in self.after.single & self.before.single

    @property
    def moved(self) -> bool:
        return self.differ.other_names and self.lives_elsewhere


def _compared(after: Wording, before: Wording, *, opposite: bool, lacking: float) -> _Compared:
    differ = _difference(after, before)
    shared = _shared(after, before)
    share = _share(after, before, shared)
    in_common = share >= _IN_COMMON
    return _Compared(
        after,
        before,
        differ,
        shared,
        opposite=opposite,
        in_common=in_common,
        alike=share >= lacking + _ALIKE,
        other_state=names_another(after.states, before.states)
        or (in_common and names_another(after.scales, before.scales)),
        topic=bool(_topics(after, before, differ)),
        changed=not (after.marks - before.marks).isdisjoint(_CHANGE),
        perhaps_changed=not after.marks.isdisjoint(_MAY_CHANGE),
    )


def _certain(pair: _Compared) -> bool:
    gained, lost = pair.differ.gained, pair.differ.lost
    same_people = not pair.after.people.isdisjoint(pair.before.people)
    return (
        (pair.about_one_thing and pair.changed and (pair.in_common or pair.lives_elsewhere or pair.other_state))
        or (pair.moved and pair.perhaps_changed)
        or (pair.opposite and not (gained or lost) and (pair.in_common or same_people))
        or (pair.in_common and pair.changed and not gained)
    )


def _likely(pair: _Compared) -> bool:
    ended = pair.alike and "ended" in pair.after.marks - pair.before.marks
    return pair.happened or pair.moved or ended or (pair.opposite and pair.alike and len(pair.shared) > 1)


def _rather(pair: _Compared) -> bool:
    return (
        (pair.alike and (pair.perhaps_changed or pair.opposite))
        or (pair.perhaps_changed and (pair.about_one_thing or _other_occupation(pair.after, pair.before)))
        or (pair.alike and pair.differ.any and not (pair.after.single & pair.before.single).isdisjoint(_PLAIN))
    )


def _perhaps(pair: _Compared) -> bool:
    after, before = pair.after, pair.before
    return (
        pair.other_state
        or (pair.topic and (pair.changed or pair.differ.of_one_kind))
        or _other_occupation(after, before)
        or ("marriage" in after.states and not (after.people & before.people).isdisjoint(_PARTNERS))
        or (pair.alike and pair.perhaps_changed)
        or _retold(pair)
        or _other_of_one_kind(after, before, pair.differ, in_common=pair.in_common)
    )


def _retold(pair: _Compared) -> bool:
    """Whether both tell of the same people and things, in sentences of other forms."""
    after, before = pair.after, pair.before
    return (
        pair.in_common
        and after.people == before.people
        and not told_apart(after, before)
        and has_another_form(after, before)
    )


def _other_of_one_kind(after: Wording, before: Wording, differ: _Difference, *, in_common: bool) -> bool:
    """Whether they choose otherwise, tell another name or number of one thing, or say what one thing is otherwise."""
    if "replaced" in after.marks or (in_common and "choice" in after.marks & before.marks):
        return True
    one, other = after.called.get("one"), before.called.get("one")
    if one and other and one != other:
        return True
    if differ.other_numbers and not differ.lost and not differ.old_names:
        return in_common or (not differ.gained and not set(after.content).isdisjoint(before.content))
    return _other_value(after, before)


def _difference(after: Wording, before: Wording) -> _Difference:
    words, old_words = set(after.content), set(before.content)
    return _Difference(
        gained=after.said - old_words,
        lost=before.said - words,
        names=after.names - before.names - after.lead,
        old_names=before.names - after.names - before.lead,
        numbers=after.numbers - before.numbers,
        old_numbers=before.numbers - after.numbers,
    )


def _topics(after: Wording, before: Wording, differ: _Difference) -> set[str]:
    """Return what both speak of that a person has one of at a time."""
    topics = after.single & before.single
    return topics - _EVENTS if differ.other_words or differ.other_names else topics


def _enough(words: set[str]) -> bool:
    """Whether `words` in common mean something in common: one Han character does not."""
    return len(words) > 1 or any(len(word) > 1 for word in words)


def _other_value(after: Wording, before: Wording) -> bool:
    """Whether both say what one and the same thing is: equal words up to "is", others behind."""
    for link in after.links:
        head = after.content[:link]
        if link in before.links and head == before.content[:link] and any(word[0] != "=" for word in head):
            return bool(after.content[link:] and before.content[link:])
    return False


def _shared(after: Wording, before: Wording) -> set[str]:
    """Return the roots of words and names that both have, up to the name that both begin with."""
    words = (after.all_roots & before.all_roots) - (after.lead_roots & before.lead_roots)
    return words if _enough(words) else set()


def _other_occupation(after: Wording, before: Wording) -> bool:
    work, work_before = after.contrasts.get("occupation"), before.contrasts.get("occupation")
    return bool(work and work_before and work.isdisjoint(work_before) and after.people == before.people)


def _years_apart(after: Wording, before: Wording) -> bool:
    """Whether each names a year that the other does not: two events."""
    first, second = _years(after), _years(before)
    return bool(first - second and second - first)


def _years(reading: Wording) -> set[str]:
    return {number for number in reading.numbers if number.startswith(("19", "20")) and len(number) == len("2000")}
