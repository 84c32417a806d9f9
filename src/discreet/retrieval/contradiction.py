"""Whether two facts about the same person or thing can't both hold, by their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.retrieval.fact_features import Wording
from discreet.retrieval.merge_rules import names_another

Doubt = Literal["none", "little", "much", "great"]
"""How doubtful it is that two facts exclude each other."""

_CHANGE = frozenset({"change", "ended", "replaced"})
CONTRADICTS = _CHANGE | {"negation"}
"""Lists whose words say that what held does not hold."""
_BESIDE = frozenset({"addition", "past"})
"""Lists whose words say that the new fact holds beside the old one."""
_EVENTS = frozenset({"appointment", "flight", "deadline"})
"""Of these there may be several, for several purposes or with several people."""


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
    def of_one_kind(self) -> bool:
        """Whether one value stands for another of its kind: a name for a name, a number for a number, else words."""
        return (
            (self.other_words or self.other_names or self.other_numbers)
            and bool(self.names) == bool(self.old_names)
            and bool(self.numbers) == bool(self.old_numbers)
        )


def exclude_each_other(after: Wording, before: Wording, *, opposite: bool) -> Doubt | None:
    """Return how doubtful it is that `after` and `before` can't both hold; None if they can.

    `opposite` tells that one of them denies something.
    """
    words, old_words = set(after.content), set(before.content)
    differ = _difference(after, before, words, old_words)
    leads = after.lead | before.lead
    in_common = _enough(after.said & before.said) or not (after.names & before.names) <= leads
    other_state = names_another(after.states, before.states) or (
        in_common and names_another(after.scales, before.scales)
    )
    topic = bool(_topics(after, before, differ))
    changed = not after.marks.isdisjoint(_CHANGE)
    if differ.other_numbers and words == old_words:
        return "none" if topic or other_state or changed else "much"
    if not after.marks.isdisjoint(_BESIDE) or _years_apart(after, before):
        return None
    moved = differ.other_names and "residence" in after.single & before.single
    denied = opposite and not differ.other_words and (in_common or not after.people.isdisjoint(before.people))
    if ((topic or other_state) and changed) or moved or denied:
        return "none"
    if in_common and (changed or opposite):
        return "none" if not differ.gained else "little" if changed and opposite else "much"
    perhaps = other_state or (topic and differ.of_one_kind) or _perhaps(after, before, differ, in_common=in_common)
    if perhaps:
        return "much"
    return "great" if not (after.marks - before.marks).isdisjoint(_CHANGE) else None


def _perhaps(after: Wording, before: Wording, differ: _Difference, *, in_common: bool) -> bool:
    """Whether one of the weaker signs is there."""
    if "replaced" in after.marks or (in_common and "choice" in after.marks & before.marks):
        return True
    one, other = after.called.get("one"), before.called.get("one")
    if one and other and one != other:
        return True
    if differ.other_numbers and not differ.lost and not differ.old_names:
        return in_common or (not differ.gained and not set(after.content).isdisjoint(before.content))
    return _other_value(after, before)


def _difference(after: Wording, before: Wording, words: set[str], old_words: set[str]) -> _Difference:
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


def _years_apart(after: Wording, before: Wording) -> bool:
    """Whether each names a year that the other does not: two events."""
    first, second = _years(after), _years(before)
    return bool(first - second and second - first)


def _years(reading: Wording) -> set[str]:
    return {number for number in reading.numbers if number.startswith(("19", "20")) and len(number) == len("2000")}
