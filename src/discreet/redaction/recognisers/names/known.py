"""What recognisers of names know of a language, from names.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def _languages() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((files(__package__) / "names.toml").read_text("utf-8"))


def words(language: str, name: str) -> tuple[str, ...]:
    """Return the words of a list."""
    return tuple(_languages()[language][name].split())


def phrases(language: str, name: str) -> tuple[str, ...]:
    """Return the entries of a list that has bars between them."""
    return tuple(" ".join(entry.split()) for entry in _languages()[language][name].split("|"))


def small(language: str, *names: str) -> frozenset[str]:
    """Return the words of some lists in small letters."""
    return frozenset(word.lower() for name in names for word in words(language, name))
