"""Read the day: `script/*.toml`, with values that look personal made at run time."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

FOLDER = Path(__file__).parent / "script"
LANGUAGES = ("en", "vi", "ru", "zh")
PAGE_CHARS = 4_000
LONG_TOKENS = 500
LETTERS_A_TOKEN = {"en": 5, "vi": 4, "ru": 4, "zh": 1}


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One message, what the model does about it, and what must hold."""

    number: int
    language: str
    who: str
    thread: str
    said: str
    """What the user typed, or the transcript of a recording."""
    is_voice: bool = False
    heard: str = ""
    """The model's summary of the recording."""
    save: tuple[str, ...] = ()
    """What the model saves."""
    plant: tuple[str, ...] = ()
    """Words of the facts told here which no other person's facts have; stems where words are inflected."""
    knows: tuple[str, ...] = ()
    """Planted words that the prompt of the answer must hold."""
    unknown: bool = False
    """It asks for what was forgotten."""
    forget: str = ""
    """What the model looks for to forget it."""
    gone: tuple[str, ...] = ()
    """Planted words that no later prompt may hold until they are said anew."""
    update: str = ""
    was: str = ""
    """The new state of a fact and the old one."""
    tool: str = ""
    """What the model looks up with the tool of 20 kB."""
    answer: str = ""
    """What the model says; a question's answer is made of what its prompt holds."""
    refusal: str = ""

    @property
    def asks(self) -> bool:
        """Whether the user asks for something that was told earlier."""
        return bool(self.knows) or self.unknown

    @property
    def facts(self) -> tuple[str, ...]:
        """All sentences that are to be remembered."""
        return (*self.save, self.update) if self.update else self.save


@dataclass(frozen=True, kw_only=True)
class Day:
    """All turns in the order in which each person says them."""

    turns: tuple[Turn, ...]
    private: Mapping[str, str]
    """E-mail addresses, telephone numbers and keys, by person and kind."""

    @property
    def people(self) -> list[str]:
        """Who speaks."""
        return list(dict.fromkeys(turn.who for turn in self.turns))

    def of(self, who: str) -> list[Turn]:
        """Return the turns of one person."""
        return [turn for turn in self.turns if turn.who == who]

    def without_voice(self) -> Day:
        """Return the day for a door that takes text only; what only a recording told is asked by nobody."""
        kept: list[Turn] = []
        for turn in self.turns:
            told = planted(kept, turn.who)
            if not turn.is_voice and set(turn.knows) <= told:
                kept.append(turn)
        return Day(turns=tuple(kept), private=self.private)


def planted(turns: Iterable[Turn], who: str) -> set[str]:
    """Return the words that one person's facts have."""
    return {word for turn in turns if turn.who == who for word in turn.plant}


@cache
def read_day() -> Day:
    """Return the day; it is the same at each call and in each process."""
    turns: list[Turn] = []
    private: dict[str, str] = {}
    for language in LANGUAGES:
        with (FOLDER / f"{language}.toml").open("rb") as file:
            script = tomllib.load(file)
        values = {who: _values(who, script) for who in script["people"]}
        for row in script["turns"]:
            turns.append(_turn(len(turns), language, row, script, values[row["who"]]))
        private |= {f"{kind} of {who}": made[kind] for who, made in values.items() for kind in ("mail", "phone", "key")}
    return Day(turns=tuple(turns), private=private)


def tool_rows(query: str) -> list[str]:
    """Return what the tool finds: some 20 kB in rows that stand nowhere else."""
    random = Random(query)
    words = ["".join(random.choices(string.ascii_lowercase, k=7)) for _ in range(200)]
    return [f"shelf {number}: {' '.join(random.choices(words, k=14))}" for number in range(170)]


def _values(who: str, script: Mapping[str, Any]) -> dict[str, str]:
    random = Random(who)
    phone = script["phone"].replace("{digits:2}", f"{random.randrange(10, 100)}")
    key = "-".join(["sk", "proj", "".join(random.choices(string.ascii_letters + string.digits, k=48))])
    page = _repeated(script["page"], PAGE_CHARS)
    return {"mail": f"{who}.{random.randrange(1000, 9999)}@example.com", "phone": phone, "key": key, "page": page}


def _repeated(paragraph: str, characters: int) -> str:
    parts: list[str] = []
    while sum(map(len, parts)) < characters:
        parts.append(f"({len(parts) + 1}) {paragraph}")
    return " ".join(parts)


def _turn(
    number: int, language: str, row: Mapping[str, Any], script: Mapping[str, Any], values: Mapping[str, str]
) -> Turn:
    fields = dict(row)
    text = fields.pop("voice", "")
    answer = fields.pop("answer", "")
    if fields.pop("long", False):
        answer = _repeated(script["paragraph"], LONG_TOKENS * LETTERS_A_TOKEN[language])
    answer = answer or script["forgotten" if "forget" in row else "known" if "knows" in row else "noted"]
    made: dict[str, Any] = {
        name: _filled(value, values) for name, value in fields.items() if name not in {"who", "in", "say"}
    }
    return Turn(
        number=number,
        language=language,
        who=row["who"],
        thread=f"{row['who']}-{row['in']}",
        said=_filled(text or row["say"], values),
        is_voice=bool(text),
        answer=_filled(answer, values),
        refusal=script["unknown"],
        **made,
    )


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for name, made in values.items():
            value = value.replace(f"{{{name}}}", made)
        return value
    return tuple(_filled(each, values) for each in value) if isinstance(value, Sequence) else value
