"""Whether a new wording may take the place of a stored one: nothing that counts is lost, and no value is exchanged."""

from __future__ import annotations

from discreet.retrieval.fact_features import Wording

_ROOT = 5
"""Words that begin with so many equal letters are taken for forms of one: migraine, migraines; asthma, asthmatic."""
_SHORT_ROOT = 4
"""The same within a part that differs, where less has to be shared for it to be the same: cello, cellist."""
_HAN_RUN = 6
"""A value in Chinese has at most so many characters in most cases: 物理学硕 against 数学学."""
_SMALL = frozenset({"=have", "=called"})
"""Groups that join others and are left out where values are compared."""


def says_no_less(after: Wording, before: Wording) -> bool:
    """Whether the new fact has all that the stored one has, as far as words tell, and no other value in its place."""
    return (
        before.numbers <= after.numbers
        and before.names <= after.names.union(after.units)
        and before.people <= after.people
        and before.lead <= set(after.units)
        and after.lead <= set(before.units)
        and before.called.get("one", set()) <= after.called.get("one", set()).union(after.lead)
        and not names_another(after.states, before.states)
        and not names_another(after.scales, before.scales)
        and not _too_little_shared(after, before)
        and not _exchanged(after, before)
    )


def names_another(after: dict[str, set[str]], before: dict[str, set[str]]) -> bool:
    """Whether both name a value of the same thing, and not the same value."""
    return any(values.isdisjoint(before[thing]) for thing, values in after.items() if thing in before)


def _too_little_shared(after: Wording, before: Wording) -> bool:
    """Whether words are only missing (more than a third), or half of them are others."""
    roots, roots_before = {_root(word) for word in after.content}, {_root(word) for word in before.content}
    gained = sum(_root(word) not in roots_before for word in after.said)
    lost = sum(_root(word) not in roots for word in before.said)
    if not gained:
        return lost * 3 > len(before.said)
    return bool(lost) and lost * 2 >= len(before.said) and gained * 2 >= len(after.said)


def _exchanged(after: Wording, before: Wording) -> bool:
    """Whether it is the same sentence with another value: "likes jazz", "likes hiking"."""
    first = [word for word in after.content if word not in _SMALL]
    second = [word for word in before.content if word not in _SMALL]
    start, end = _equal_ends(first, second)
    middle, other = first[start : len(first) - end], second[start : len(second) - end]
    template = start + end >= max(len(middle), len(other)) or len(middle) == len(other)
    if start and template and _few_han(middle) and _few_han(other):
        gained, lost = set(middle) - set(other), set(other) - set(middle)
        return bool(gained and lost) and (_says_something(gained) or _says_something(lost))
    if not _says_something(middle) or not _says_something(other):
        return False
    if len(middle) == len(other):
        pairs = [pair for pair in zip(middle, other, strict=True) if pair[0] != pair[1]]
        middle, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return {_root(word, _SHORT_ROOT) for word in middle}.isdisjoint(_root(word, _SHORT_ROOT) for word in other)


def _equal_ends(first: list[str], second: list[str]) -> tuple[int, int]:
    """Return how many words are equal at the beginning and, of the others, at the end."""
    shorter = min(len(first), len(second))
    start = 0
    while start < shorter and first[start] == second[start]:
        start += 1
    end = 0
    while end < shorter - start and first[-1 - end] == second[-1 - end]:
        end += 1
    return start, end


def _says_something(words: list[str] | set[str]) -> bool:
    """Whether there is more among `words` than single Han characters that only join others."""
    return any(word[0] != "=" or len(word) > len("=x") for word in words)


def _few_han(words: list[str]) -> bool:
    return len(words) <= _HAN_RUN and all(len(word) == 1 or word[0] == "=" for word in words)


def _root(word: str, length: int = _ROOT) -> str:
    return word if word[0] == "=" or "/" in word else word[:length]
