"""Labelled rows and chat turns, read from a folder of sets."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

VARIABLE = "DISCREET_EVAL_SETS"
ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "benchmarks" / "redaction_sets" / "secrets.py"
NOT_SCORED = frozenset({"PERSON", "OTHER"})
CORE = frozenset({"EMAIL", "PHONE", "CARD", "IBAN", "NATID", "IP", "SECRET", "URL"})

FORMAT = """\
format of the sets, a folder with
  redaction/*.jsonl   one JSON object a line: {"id", "lang", "text", "spans": [{"start", "end", "type", "otype"}], "neg"};
                      offsets count code points; type is EMAIL PHONE CARD IBAN NATID IP SECRET URL ADDRESS INTERNAL_ID
                      (PERSON and OTHER are not scored), otype a finer kind; neg: nothing may be masked. Rows with
                      "evasion", a kind of disguise, are counted apart. Names with "hard_negatives" are the hard ones.
  retrieval/*.jsonl   one conversation a line: {"turns": [{"text"}]}, ordinary chat of which nothing may be masked
"""


@dataclass(frozen=True, slots=True)
class Value:
    """A value that has to go."""

    start: int
    end: int
    type: str
    kind: str
    """What the set calls it; finer than the type."""


@dataclass(frozen=True, slots=True)
class Row:
    """A text and what is in it."""

    set: str
    """Name of its file."""
    language: str
    text: str
    values: tuple[Value, ...]
    negative: bool
    """Nothing in it may be masked."""
    evasion: str | None


@dataclass(frozen=True)
class Sets:
    """All that is measured."""

    rows: list[Row]
    turns: list[str] = field(default_factory=list)
    """Chat messages without anything to mask."""


def find_folder(option: Path | None) -> Path | None:
    """Return the folder of the sets; None if there is none. One that was named and is not there ends the program."""
    named = option or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is None:
        beside = (ROOT / "eval", *sorted(ROOT.parent.glob("*/eval")))
        return next((folder for folder in beside if (folder / "redaction").is_dir()), None)
    if (named / "redaction").is_dir():
        return named
    sys.exit(f"{named / 'redaction'} is not a folder. Name one that has labelled sets; --help tells their format.")


def read_sets(folder: Path) -> Sets:
    """Return the rows and turns of all files."""
    rows = [
        read_row(path.stem, data) for path in sorted((folder / "redaction").glob("*.jsonl")) for data in _lines(path)
    ]
    turns = [
        turn["text"]
        for path in sorted((folder / "retrieval").glob("*.jsonl"))
        for conversation in _lines(path)
        for turn in conversation.get("turns", [])
    ]
    return Sets(rows, turns)


def generated_rows(*, seed: int, per_kind: int) -> list[Row]:
    """Return rows with secrets, and rows that only look like it, made now since no file may hold a secret.

    None if their generator is not there.
    """
    if not GENERATOR.is_file():
        return []
    sys.path.append(str(GENERATOR.parent))  # last, as its own name is that of a module of the standard library
    generator = import_module("redaction_sets.secrets")
    made = [read_row("secrets", data) for data in generator.rows(seed, per_kind)]
    near_misses = getattr(generator, "near_misses", list)
    return made + [read_row("near_misses", data) for data in near_misses()]


def read_row(name: str, data: dict[str, Any]) -> Row:
    """Return a row as the set `name` has it."""
    values = tuple(
        Value(span["start"], span["end"], span["type"], span.get("otype", span["type"]))
        for span in data["spans"]
        if span["type"] not in NOT_SCORED
    )
    language = data["lang"].replace("_", "-").partition("-")[0].lower()
    return Row(name, language, data["text"], values, data["neg"], data.get("evasion"))


def joined(texts: Sequence[str], size: int) -> list[str]:
    """Return `texts`, one after the other, cut into pieces of `size` characters."""
    whole = " ".join(texts)
    return [whole[start : start + size] for start in range(0, len(whole) - size + 1, size)]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
