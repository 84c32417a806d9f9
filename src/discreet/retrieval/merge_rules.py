"""Whether a new wording may take the place of a stored one: nothing that counts is lost, and no value is exchanged."""

from __future__ import annotations

from typing import Literal

from discreet.retrieval.fact_features import Wording, root_of, weight_of

_SHORT_ROOT = 4
"""Words of a part that differs are taken for forms of one if so many letters are equal: less has to be shared for it to be the same: cello, cellist."""
_HAN_RUN = 6
"""A value in Chinese has at most so many characters in most cases: 物理学硕 against 数学学."""
_OTHERWISE = "occupation relative month part_of_day not_yet line gender sequence unit activity setting part_of_week end"
_ANY = frozenset(_OTHERWISE.split())
"""Classes of contrasts.toml whose words stand for other things too: one of them alone may be left out."""
_JOINS = """
have there do can together often called say near_to begin meet take filler spouse job commute car appointment answers plan
flight exercise speak play
"""
_LINKING = frozenset(f"={group}" for group in _JOINS.split())
"""Groups that join others. The rest makes another fact of the same words: what one likes, fears, wants, lives in."""
_ALONE = ("side", "age", "period", "distant")
"""Classes of contrasts.toml of which a value on one side only makes another fact."""
_TOPICS_BY_THE_WAY = frozenset({"called", "answers", "commute", "car", "flight"})
"""Topics that a fact may leave out and say no less."""
_PARTS_OF_NAMES = frozenset({"=\u4e0a", "=\u91cc"})
"""Particles of Chinese that places are often called by: Shanghai is no Haikou."""
_SUBJECT_UNITS = 2
"""Within so many units from the beginning a name tells whom a text is about."""
_EXCLUDED = frozenset({"not_yet", "occupation"})
"""Classes of which another value rather means a change."""
_PARTNERS = frozenset({"wife", "husband", "partner"})
_ANIMALS = frozenset({"dog", "cat", "bird", "fish", "rabbit", "hamster", "horse"})
_PARENTAL = frozenset({"child"})
"""Also told by words that are no person's: "childhood", "has three children"."""
_SMALL = frozenset({"=have", "=called"})
"""Groups that join others and are left out where values are compared."""


def says_no_less(after: Wording, before: Wording) -> bool:
    """Whether the new fact has all that the stored one has, as far as words tell, and no other value in its place."""
    return (
        before.numbers <= after.numbers
        and before.names <= after.names.union(after.units)
        and before.people <= after.people
        and after.people - before.people <= _PARENTAL | _PARTNERS
        and before.lead <= set(after.units)
        and after.lead <= set(before.units)
        and before.called.get("one", set()) <= after.called.get("one", set()).union(after.lead)
        and _keeps_its_topic(after, before)
        and not after.subject - before.people - _PARTNERS - _PARENTAL
        and not (after.names - set(before.units)).intersection(after.units[:_SUBJECT_UNITS])
        and after.owners <= set(before.units)
        and not (after.negative and _gained(after, before))
        and not names_another(after.states, before.states)
        and not names_another(after.scales, before.scales)
        and not _too_little_shared(after, before)
        and not _exchanged(after, before)
        and not _filled_in_otherwise(after, before)
    )


def _gained(after: Wording, before: Wording) -> bool:
    return not after.said_roots.issubset(before.content_roots)


def _keeps_its_topic(after: Wording, before: Wording) -> bool:
    """Whether the new fact is about the same, where words do not tell: "an only child", "lives there with her parents"."""
    if not before.said and before.senses - before.lead - after.senses - set(after.units):
        return False
    lost = before.single - after.single
    return not lost or (bool(before.said) and not _gained(after, before)) or _joining({f"={topic}" for topic in lost})


def told_apart(after: Wording, before: Wording) -> bool:
    """Whether a value of a class of contrasts.toml tells them apart.

    Both name one, and each one that the other has not: another side, weekday, language. Or only one of them tells of which
    of two, or of which time of life, or that a language is only learnt.
    """
    theirs = before.contrasts
    for contrast, values in after.contrasts.items():
        others = theirs.get(contrast)
        if others is not None and contrast not in _EXCLUDED and not (values <= others or others <= values):
            return True
    if any((contrast in theirs) != (contrast in after.contrasts) for contrast in _ALONE):
        return True
    learns, learnt = ("learn" in reading.contrasts.get("activity", ()) for reading in (after, before))
    return learns != learnt and "language" in after.contrasts


Rewording = Literal["equal", "more", "less", "turned"]


def says_in_other_words(after: Wording, before: Wording) -> Rewording | None:
    """Return whether the new fact says as much as the stored one, more, or a little less; None if it says another thing.

    Words that mean the same (synonyms.toml) are one. Numbers, names, people and contrasts must be there on both sides.
    `turned` is the same in another order, up to a word or two: facts that differ in one value have that in the same place.
    """
    if not _same_frame(after, before):
        return None
    roots, roots_before = after.sense_roots, before.sense_roots
    missing, extra, shared = roots_before - roots, roots - roots_before, roots & roots_before
    joining = _joining((after.frames - before.frames) - _wishes(after, before))
    if not (missing or extra):
        return "equal" if joining and (shared or after.numbers or after.people or after.names) else None
    if not joining or _other_values(after, before):
        return None
    return _amount(after, before, missing=missing, extra=extra, shared=shared)


def _same_frame(after: Wording, before: Wording) -> bool:
    """Whether there are the same numbers, names, people, contrasts and groups of words that say little, all affirmed."""
    return (
        after.denied == before.denied
        and after.numbers == before.numbers
        and _same_names(after, before)
        and _same_people(after, before)
        and not _turned_round(after, before)
        and _joining((before.frames - after.frames) - _wishes(after, before))
        and _same_particles(after, before, _PARTS_OF_NAMES)
        and all(contrast in _ANY or contrast in after.contrasts for contrast in before.contrasts)
    )


def _wishes(after: Wording, before: Wording) -> set[str]:
    """Return the groups that may differ between two wishes: "I want short answers", "answer in short, please"."""
    return {"=want"} if "choice" in after.marks & before.marks else set()


def _other_values(after: Wording, before: Wording) -> bool:
    return (
        not _same_particles(after, before, _PARTS_OF_NAMES | {"=\u90fd"})
        or _other_subject(after, before)
        or _filled_in_otherwise(after, before)
        or names_another(after.states, before.states)
        or names_another(after.scales, before.scales)
    )


def _amount(
    after: Wording, before: Wording, *, missing: set[str], extra: set[str], shared: set[str]
) -> Rewording | None:
    """Return how much the new fact says, by the words that only one of them has and those of both."""
    common = weight_of(shared)
    topics = _TOPICS_BY_THE_WAY | ({"job"} if "commute/" in shared else set())
    narrowed = after.negative or before.single - after.single - topics
    if common and not missing and not narrowed and weight_of(extra) <= max(1, common):
        return "more"
    if common and not extra and 3 * weight_of(missing) <= weight_of(missing | shared):
        return "less"
    common += len(after.names & before.names)
    if common > 1 and max(weight_of(missing), weight_of(extra)) <= 1 and _turned(after, before):
        return "turned"
    return None


def has_another_form(after: Wording, before: Wording) -> bool:
    """Whether it is no sentence of the same form: of two such facts with other values both hold more often than not."""
    start, end = _equal_ends(after.content, before.content)
    return start + end < max(1, min(len(after.content), len(before.content)) / 2)


def _filled_in_otherwise(after: Wording, before: Wording) -> bool:
    """Whether it is a sentence of the same form and order with other words in it."""
    roots, roots_before = after.sense_roots, before.sense_roots
    if roots == roots_before:
        return False
    start, end = _equal_ends(after.units, before.units)
    shorter = min(len(after.units), len(before.units))
    if start + end >= shorter / 2:
        return start + end < shorter
    return not (
        roots <= roots_before or roots_before <= roots or has_another_form(after, before) or _turned(after, before)
    )


def _turned(after: Wording, before: Wording) -> bool:
    """Whether the words that both have stand in another order."""
    first, second = after.content_roots, before.content_roots
    both = {word for word in set(first) & set(second) if len(word) > len("=x") or word.isascii()}
    return _firsts(first, both) != _firsts(second, both)


def _firsts(words: list[str], both: set[str]) -> list[str]:
    return list(dict.fromkeys(word for word in words if word in both))


def _turned_round(after: Wording, before: Wording) -> bool:
    """Whether those of whom they tell change places: "my brother's wife", "my wife's brother", "Ann called Bob"."""
    relatives, relatives_before = _relatives(after), _relatives(before)
    leads = after.lead and before.lead and after.lead != before.lead
    return bool(leads) or (relatives != relatives_before and sorted(relatives) == sorted(relatives_before))


def _relatives(reading: Wording) -> list[str]:
    return [word for word in reading.content if word[1:] in reading.people and word[1:] not in _ANIMALS]


def _same_people(after: Wording, before: Wording) -> bool:
    """Whether they are about the same people. "Married to a pilot" has a husband."""
    others = after.kin ^ before.kin
    return others <= _PARTNERS and (not others or _has_partner(after) == _has_partner(before))


def _other_subject(after: Wording, before: Wording) -> bool:
    """Whether one of them begins with somebody whom the other does not tell of."""
    return bool((after.subject - before.people) | (before.subject - after.people)) and not (
        after.subject | before.subject <= _PARTNERS
    )


def _same_particles(after: Wording, before: Wording, particles: frozenset[str]) -> bool:
    return not (after.frames ^ before.frames) & particles


def _has_partner(reading: Wording) -> bool:
    return not reading.people.isdisjoint(_PARTNERS) or "marriage" in reading.states or "=spouse" in reading.frames


def _joining(frames: set[str]) -> bool:
    """Whether `frames` only join other words."""
    return all(len(frame) == len("=x") or frame in _LINKING for frame in frames)


def _same_names(after: Wording, before: Wording) -> bool:
    units, units_before = set(after.units), set(before.units)
    return before.names <= units and after.names <= units_before and before.lead <= units and after.lead <= units_before


def names_another(after: dict[str, set[str]], before: dict[str, set[str]]) -> bool:
    """Whether both name a value of the same thing, and not the same value."""
    return any(values.isdisjoint(before[thing]) for thing, values in after.items() if thing in before)


def _too_little_shared(after: Wording, before: Wording) -> bool:
    """Whether words are only missing (more than a third), or half of them are others."""
    roots, roots_before = set(after.content_roots), set(before.content_roots)
    gained = sum(root_of(word) not in roots_before for word in after.said)
    lost = sum(root_of(word) not in roots for word in before.said)
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
    return {root_of(word, _SHORT_ROOT) for word in middle}.isdisjoint(root_of(word, _SHORT_ROOT) for word in other)


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
