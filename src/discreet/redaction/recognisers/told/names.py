"""Words for secrets in a text."""

from __future__ import annotations

from functools import cache

from discreet.redaction.word_index import Names
from discreet.redaction.words import words


@cache
def secrets() -> Names:
    """Return the words for passwords, keys and accounts."""
    return Names(words("secret", "password", "weak", "key", "login"))


@cache
def codes() -> Names:
    """Return the words for codes that let somebody in."""
    return Names(words("code", "once", "pin", "card", "plain"))
