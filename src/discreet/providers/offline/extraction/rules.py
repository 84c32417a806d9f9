"""Load the rules of one language: words, marks of what is no statement, and frames of what is one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from discreet.providers.offline.reading import Language

_NEVER: Final = r"(?!)"
_CLASS: Final = re.compile(r"\{([a-z_]+)\}")
_SPACED: Final = r"(?<![\w-]){}(?!\w)"
_ALIKE: Final = str.maketrans({"’": "'", "‘": "'", "`": "'", "ё": "е", "Ё": "Е", "\u00a0": " "})
ITEM_GROUPS: Final = "facts"
MOMENT_GROUPS: Final = "moments"
EDGES: Final = " \t\n,;:.!?()—–-\u2026\u3002\uff0c\uff1b\uff1a\uff01\uff1f\u3001\uff08\uff09~*"
"""What a clause neither begins nor ends with."""


@dataclass(frozen=True)
class Group:
    """Frames of one kind of fact or moment."""

    name: str
    type: str
    importance: int
    strong: re.Pattern[str]
    """Begins a clause that states such a fact."""
    topic: re.Pattern[str]
    """Makes a statement of a clause about the user's own."""
    opening: re.Pattern[str]
    """As `strong`, where the clause begins the sentence: it names nobody, and whom it is about has to be the user."""
    inside: re.Pattern[str]
    """States such a fact wherever it stands in a question or request: "for my vegan wife"."""
    weak: bool
    """Whether its frames are so general that what stands behind another fact goes on with that one."""
    plain_only: bool
    """Whether its frames count in plain sentences alone, and not beside a question."""
    orders: bool
    """Whether such a fact has the form of a request: how the user wants to be answered."""


@dataclass(frozen=True)
class Rules:
    """The rules of one language, compiled. All are for `plain` text."""

    marks: Mapping[str, re.Pattern[str]]
    written: Sequence[tuple[re.Pattern[str], str]]
    """Beginnings of a statement, and what is written instead."""
    respelled: Sequence[tuple[re.Pattern[str], str]]
    """Words as they are often typed, and as the rules and the reader have them: "im"."""
    stop: str
    """What ends a sentence before the next."""
    facts: Sequence[Group]
    moments: Sequence[Group]

    def found(self, mark: str, text: str) -> bool:
        """Return whether a rule of `mark` applies anywhere in `text`."""
        return self.marks[mark].search(text) is not None

    def begins(self, mark: str, text: str) -> int:
        """Return how many characters a rule of `mark` takes at the beginning of `text`."""
        match = self.marks[mark].match(text)
        return match.end() if match else 0

    def respell(self, text: str) -> str:
        """Return `text` with the words of `respelled` written out."""
        for typed, word in self.respelled:
            text = typed.sub(word, text)
        return text

    def lead(self, text: str) -> int:
        """Return how many characters of introduction stand before what `text` says: "Hi! By the way, since "."""
        at = len(text) - len(text.lstrip(EDGES))
        while taken := self.begins("intro", text[at:]):
            at += taken
            at += len(text[at:]) - len(text[at:].lstrip(EDGES))
        return at


def plain(text: str) -> str:
    """Return `text` for matching, at the same positions: small letters, straight apostrophes, simplified characters."""
    text = text.translate(_ALIKE).translate(_simplified())
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


@cache
def rules(language: Language) -> Rules:
    """Return the rules of `language`."""
    data = _data(language)
    shape = "{}" if language == "zh" else _SPACED
    words = {name: "(?:" + "|".join(each) + ")" for name, each in data["words"].items()}

    def compiled(patterns: Sequence[str]) -> re.Pattern[str]:
        if not patterns:
            return re.compile(_NEVER)
        body = "|".join(pattern.rstrip(" ") for pattern in patterns)  # the shape tells where a word ends
        while _CLASS.search(body):
            body = _CLASS.sub(lambda match: words[match[1]], body)
        return re.compile(shape.format(f"(?:{body})"))

    def groups(kind: str) -> list[Group]:
        return [
            Group(
                name,
                str(each["type"]),
                int(each["importance"]),
                compiled(each.get("strong", [])),
                compiled(each.get("topic", [])),
                compiled(each.get("opening", [])),
                compiled(each.get("inside", [])),
                bool(each.get("weak")),
                bool(each.get("plain_only")),
                bool(each.get("orders")),
            )
            for name, each in data[kind].items()
        ]

    written = [(re.compile(f"^(?:{begins})"), instead) for begins, instead in data.get("written", {}).items()]
    respelled = [(re.compile(shape.format(typed), re.IGNORECASE), word) for typed, word in data["respelled"].items()]
    marks = {name: compiled(each) for name, each in data["marks"].items()}
    return Rules(
        marks, written, respelled, "\u3002" if language == "zh" else ". ", groups(ITEM_GROUPS), groups(MOMENT_GROUPS)
    )


@cache
def _simplified() -> dict[int, str]:
    pairs = _data("zh")["traditional"]["pairs"].split()
    return {ord(traditional): simple for traditional, simple in pairs}


def _data(language: Language) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))
