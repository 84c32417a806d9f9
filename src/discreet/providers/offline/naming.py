"""Whether a memory is what the user named, by its words: deleting another one can't be undone."""

from __future__ import annotations

from discreet.retrieval.fact_features import Wording, wording
from discreet.retrieval.telling import tells

_ROOT = 5
"""Words that begin with so many equal letters are taken for forms of one: pregnant, pregnancy."""


def is_meant(memory: str, named: str) -> bool:
    """Whether `memory` tells what the user `named`, and has no other value in the place of one of theirs.

    Example:
        >>> is_meant("I live in Hanoi", "I live in Hanoi"), is_meant("I live in Hanoi", "where I live")
        (True, True)
        >>> is_meant("I live in Hanoi", "I live in Paris"), is_meant("I am allergic to nuts", "I am allergic to cats")
        (False, False)
    """
    said, kept = wording(named), wording(memory)
    if said.negative and not kept.negative:
        return False
    gained, lost = _words(said) - _words(kept), _words(kept) - _words(said)
    numbers = bool(said.numbers - kept.numbers and kept.numbers - said.numbers)
    if not gained and not numbers:
        return bool(_words(said))
    exchanged = numbers or (gained and any(word[0] not in "=<" for word in lost))
    return not exchanged and tells(memory, named)


def says_all(memory: str, named: str) -> bool:
    """Whether `memory` has every word of what the user `named`, of nobody else: it is the same, and perhaps more of it.

    Words such as "like" and "live", which many facts have, are not enough.
    """
    said, kept = wording(named), wording(memory)
    alike = said.negative == kept.negative and kept.people <= said.people and said.numbers <= kept.numbers
    words = _words(said)
    return alike and words <= _words(kept) and any(word[0] != "=" for word in words)


def _words(reading: Wording) -> set[str]:
    """Return roots of the words that say something, and whom it is about."""
    telling = [word for word in reading.content if word[0] != "=" or len(word) > len("=x")]  # one Han character joins
    return {word if word[0] in "=<" else word[:_ROOT] for word in telling} | reading.people
