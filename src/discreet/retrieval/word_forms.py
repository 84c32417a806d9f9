"""What the forms of a word have in common: its root."""

from __future__ import annotations

import re
from functools import lru_cache

from discreet.retrieval.phrases import Unit
from discreet.state.text import without_marks

ROOT = 5
"""Words that begin with so many equal letters are taken for forms of one: allergy, allergic."""

_CONSONANT = "[бвгджзклмнпрстфхцчшщ]"
_CASE_ENDING = re.compile(rf"(?!вс)({_CONSONANT}{{1,2}}ь?{_CONSONANT})(?:[ауеыияю]|[ео]м)")
"""A word of one vowel, which Snowball leaves as it is: пса, псом, льва."""
_FULL = re.compile(rf"({_CONSONANT}+)([ео])({_CONSONANT})|(.*{_CONSONANT})([ео])([кцлрн])")
"""Words whose last vowel goes in other forms: лев, отец, угол."""
_SHORT = re.compile(rf"({_CONSONANT}+)(ь?)({_CONSONANT})|(.*{_CONSONANT})(ь?)([кцлрн])")


def root(each: Unit) -> str:
    """Return what stands for a unit in all its forms."""
    return _root_of(each.plain, is_stop=each.stop) if each.kind in ("word", "capital") else each.plain


def variants(root: str) -> frozenset[str]:
    """Return a root with and without the vowel that comes and goes in Russian: пес and пс, лев and льв."""
    if not "а" <= root[:1] <= "я" or len(root) > ROOT:
        return frozenset({root})
    found = {root}
    if full := _FULL.fullmatch(root):
        begins, vowel, ends = (group for group in full.groups() if group is not None)
        found.add(begins + ("ь" if begins.endswith("л") and vowel == "е" else "") + ends)
    elif short := _SHORT.fullmatch(root):
        begins, softness, ends = (group for group in short.groups() if group is not None)
        found |= {begins + vowel + ends for vowel in ("е" if softness else "ео")}
    return frozenset(found)


def beginning(root: str) -> str:
    """Return the letters that all words of a root begin with: a stem of "smoking" is "smoke", of "baby" "babi"."""
    return root.rstrip("eiy") if root.isascii() else root


def folded(text: str) -> str:
    """Return the small letters of a text without their marks, which many leave out in typing."""
    return without_marks(text.casefold())


@lru_cache(maxsize=50_000)
def _root_of(word: str, *, is_stop: bool) -> str:
    letters = folded(word)
    if not is_stop and (short := _CASE_ENDING.fullmatch(letters)):
        letters = short[1]
    return letters[:ROOT]
