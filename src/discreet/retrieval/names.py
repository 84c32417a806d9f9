"""Whether a word is written as a name: "Nice is hot", "a nice day".

Names that are everyday words too are in everyday_names.toml. A spelling is a root; after "^" stands a Vietnamese syllable
that is alone, with its marks, after "=" a word for people or animals. With "~" before it, it is one of a sentence in small
letters; "~~" is a word of a sentence without marks.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files

from discreet.retrieval.phrases import Unit, unit
from discreet.retrieval.word_forms import folded, root, variants

_SHORT = 3
"""Russian stems of so few letters are those of several words."""
_CYRILLIC = re.compile("[\u0430-\u044f]")
_SYLLABLE = re.compile("(?:b|ch?|d|gh?|gi|h|kh?|l|m|ngh?|nh?|ph?|qu|r|s|th?|tr|v|x)?[aeiouy]{1,3}(?:ch?|m|ng|nh?|p|t)?")
"""A syllable that Vietnamese may have, without marks."""
_VOWEL = re.compile("[aeiouy]")
_MARK = re.compile("[\u0300-\u036f]")


def is_syllable(each: Unit) -> bool:
    """Whether Vietnamese may have it as a syllable; so are measures, as "kg"."""
    letters = folded(each.plain)
    return _SYLLABLE.fullmatch(letters) is not None or _VOWEL.search(letters) is None


def is_person(each: Unit) -> bool:
    """Whether a word, one syllable or Han character though it may be, tells a kind of person or animal."""
    return each.alone is not None and bool(each.alone.people) and "title" not in each.alone.marks


def is_everyday(each: Unit) -> bool:
    """Whether a name is an everyday word too."""
    return each.plain in _everyday() or not variants(root(each)).isdisjoint(_changing())


def is_alone(units: Sequence[Unit], at: int) -> bool:
    """Whether what stands beside a word that begins with a capital belongs to no name."""
    around = [*units[max(at - 1, 0) : at], *units[at + 1 : at + 2]]
    return not any(each.kind == "capital" and not each.stop and each.alone is None for each in around)


def spellings(written: str, *, in_syllables: bool) -> frozenset[str]:
    """Return how a text must spell a name, or a word for people, for it to be one; nothing if it does not matter."""
    each = unit(written)
    if is_person(each):
        return frozenset({f"={_spelt(each.plain)}"}) if in_syllables else frozenset()
    if in_syllables and is_syllable(each):
        found = {f"^{_spelt(each.plain)}", f"^{folded(each.plain)}"}
        small = {f"~^{_spelt(each.plain)}", f"~~{folded(each.plain)}"} if len(each.plain) > 1 else set[str]()
    elif is_everyday(each) or _is_short(each, written):
        found = set(variants(root(each)))
        small = {f"~{spelling}" for spelling in found}
    else:
        return frozenset()
    return frozenset(found if is_everyday(each) else found | small)


def names_in(written: Sequence[str]) -> frozenset[str]:
    """Return the spellings of names in a sentence; of all words if it is in small letters."""
    units = [unit(each) for each in written]
    found = {f"={_spelt(each.plain)}" for each in units if is_person(each)}
    if not any(each.kind == "capital" for each in units):
        return frozenset(found | _small(units))
    begins = True
    for at, each in enumerate(units):
        if each.kind == "capital" and not (begins and _is_request(written, units, at)):
            found.add(root(each))
            # a sentence begins with a capital, whether it begins with a name or not
            if is_alone(units, at) or (at == 1 and is_alone(units[1:], 0)):
                found.add(f"^{_spelt(each.plain)}")
        begins = each.kind == "break" or (begins and not each.plain[0].isalpha())
    return frozenset(found)


def _small(units: Sequence[Unit]) -> set[str]:
    words = [each for each in units if each.kind == "word"]
    found = {f"~^{_spelt(each.plain)}" for each in words} | {f"~{root(each)}" for each in words}
    if all(each.plain.isascii() for each in words):
        found |= {f"~~{each.plain}" for each in words}
    return found


def _is_short(each: Unit, written: str) -> bool:
    return len(each.plain) <= _SHORT and written[1:].islower() and _CYRILLIC.match(each.plain) is not None


def _is_request(written: Sequence[str], units: Sequence[Unit], at: int) -> bool:
    """Whether the first word of a sentence is rather an everyday one: "May I", "Mark the box"."""
    if units[at].plain not in _listed("often_first") or "'" in written[at] or at + 1 == len(units):
        return False
    follows = written[at + 1].casefold()
    return not (units[at + 1].kind == "han" or follows in _after() or follows.endswith("ed"))


@lru_cache(maxsize=50_000)
def _spelt(plain: str) -> str:
    """Return a word with its marks behind it: they may stand on either of two vowels."""
    if plain.isascii():
        return plain
    letters = unicodedata.normalize("NFD", plain)
    return _MARK.sub("", letters) + "".join(sorted(_MARK.findall(letters)))


@cache
def _everyday() -> frozenset[str]:
    return _listed("seldom_first") | _listed("often_first")


@cache
def _changing() -> frozenset[str]:
    """Return the roots of everyday words that lose or gain a vowel in other forms."""
    found = (variants(root(unit(word))) for name in ("seldom_first", "often_first") for word in _data()[name])
    return frozenset().union(*(each for each in found if len(each) > 1))


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(unit(word).plain for word in _data()[name])


@cache
def _after() -> frozenset[str]:
    return frozenset(_data()["after"])


@cache
def _data() -> dict[str, list[str]]:
    return tomllib.loads(files(__package__).joinpath("everyday_names.toml").read_text(encoding="utf-8"))
