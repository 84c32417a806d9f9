"""What the page says in four languages, and what the people at the playground might say."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from discreet.redaction.thread_offload import read_apart

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "vi": "Tiếng Việt", "ru": "Русский", "zh": "中文"}
"""What each calls itself."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """Something to say."""

    says: str
    fresh: bool = False
    """Whether it begins a conversation."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """A user that a visitor can be."""

    key: str
    name: str
    language: str
    """That this person writes."""
    examples: Sequence[Example]
    """In the order that tells the story."""


def translate(text: str, language: str) -> str:
    """Return an English text of the page in a language; as it is where that has no words for it."""
    words: Mapping[str, str] = _file().get(language, {})
    return words.get(text, text)


@cache
def people() -> Sequence[Person]:
    """Return who one can be."""
    return [
        Person(**{**each, "examples": [Example(**example) for example in each["examples"]]})
        for each in _file()["people"]
    ]


@cache
def _file() -> Mapping[str, Any]:
    text = read_apart(lambda: files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    return tomllib.loads(text)
