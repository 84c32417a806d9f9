"""What the page says in four languages, and what the people at the playground might say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from discreet.api.pages.translations import Translations

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "vi": "Tiếng Việt", "ru": "Русский", "zh": "中文"}
"""What each calls itself."""
_WORDS: Final = Translations(Path(__file__).with_name("words.toml"))


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
    return _WORDS.translate(text, language)


@cache
def people() -> Sequence[Person]:
    """Return who one can be."""
    return [
        Person(**{**each, "examples": [Example(**example) for example in each["examples"]]})
        for each in _WORDS.file["people"]
    ]
