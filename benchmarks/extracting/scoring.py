"""Labelled turns, and how well what was extracted of them tells their facts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SETS = Path(__file__).resolve().parents[1] / "extraction_sets"
LANGUAGES = ("en", "vi", "ru", "zh")

FORMAT = """\
format of the sets
  JSON Lines, one file a language, one turn a line: `id`, `said`, `facts`, a list of {text, type, keys}, and `trap`, which says what
  sort of turn without facts of the user's own it is (a question, a quotation, irony …), null for others. An item tells a fact if
  all of its `keys`, regular expressions, are found in the item's text. One that tells no fact of its turn is wrong.
"""


@dataclass(frozen=True)
class Fact:
    """What is to be found in a turn."""

    type: str
    keys: tuple[re.Pattern[str], ...]

    def told_by(self, text: str) -> bool:
        """Whether `text` tells it."""
        return all(key.search(text) for key in self.keys)


@dataclass(frozen=True)
class Turn:
    """One labelled turn."""

    id: str
    language: str
    said: str
    facts: tuple[Fact, ...]
    trap: str


@dataclass
class Score:
    """Counts of one group of turns."""

    right: int = 0
    wrong: int = 0
    found: int = 0
    missed: int = 0
    by_type: Counter[tuple[str, bool]] = field(default_factory=Counter)
    wrong_by_trap: Counter[str] = field(default_factory=Counter)
    turns_by_trap: Counter[str] = field(default_factory=Counter)

    def add(self, turn: Turn, items: Sequence[str]) -> None:
        """Count what was extracted of one turn."""
        self.turns_by_trap[turn.trap] += 1
        for item in items:
            if any(fact.told_by(item) for fact in turn.facts):
                self.right += 1
            else:
                self.wrong += 1
                self.wrong_by_trap[turn.trap] += 1
        for fact in turn.facts:
            told = any(fact.told_by(item) for item in items)
            self.found += told
            self.missed += not told
            self.by_type[fact.type, told] += 1

    @property
    def precision(self) -> float:
        """Share of items that tell a fact."""
        return self.right / (self.right + self.wrong or 1)

    @property
    def recall(self) -> float:
        """Share of facts that an item tells."""
        return self.found / (self.found + self.missed or 1)

    def recall_of(self, kind: str) -> str:
        """Return the recall of one type of facts, with their number."""
        told, missed = self.by_type[kind, True], self.by_type[kind, False]
        return f"{told / (told + missed):.2f} of {told + missed}" if told + missed else ""

    @property
    def as_dict(self) -> Mapping[str, Any]:
        """As JSON has it."""
        kinds = sorted({kind for kind, _ in self.by_type})
        return {
            "turns": sum(self.turns_by_trap.values()),
            "items": self.right + self.wrong,
            "facts": self.found + self.missed,
            "precision": round(self.precision, 3),
            "recall": round(self.recall, 3),
            "recall_by_type": {kind: self.recall_of(kind) for kind in kinds},
            "wrong_items_by_trap": dict(self.wrong_by_trap),
            "turns_by_trap": dict(self.turns_by_trap),
        }


def read_turns(folder: Path) -> Iterator[Turn]:
    """Yield the turns of all languages of a set."""
    for language in LANGUAGES:
        path = folder / f"{language}.jsonl"
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            said = json.loads(line)
            facts = tuple(Fact(each["type"], _compiled(each["keys"])) for each in said["facts"])
            yield Turn(said["id"], language, said["said"], facts, said["trap"] or "plain")


def _compiled(keys: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(key, re.IGNORECASE) for key in keys)
