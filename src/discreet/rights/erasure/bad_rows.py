"""Rows that imports refused lie raw in files of the data folder: which lines of them are a person's, or tell what they said."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "bad-rows"
"""In the data folder."""

LEAST_ID: Final = 8
"""Characters of a user_id that is looked for in texts: a shorter one is in many words."""


def lines_of(path: Path, *, names: Collection[str] = (), words: Collection[str] = ()) -> list[int]:
    """Return which lines of a file, counted from 1, are of one that `names` name, or have one of `words`.

    It errs towards yes: a name counts wherever it stands by itself.

    Raises:
        OSError: The file can't be read.
    """
    found = []
    with path.open(encoding="utf-8", errors="backslashreplace") as file:
        for number, line in enumerate(file, 1):
            texts = list(_texts(line))
            said = "\n".join(texts).casefold()
            if any(_names(name, texts) for name in names) or any(word.casefold() in said for word in words):
                found.append(number)
    return found


def named(data_dir: Path, names: Collection[str]) -> dict[str, list[int]]:
    """Return the lines of those in files of `data_dir` whom `names` name, by the path of the file below it.

    A file that can't be read has no lines.
    """
    found: dict[str, list[int]] = {}
    for path in sorted((data_dir / FOLDER).glob("*.jsonl")):
        try:
            lines = lines_of(path, names=names)
        except OSError:
            lines = []
        if lines:
            found[str(path.relative_to(data_dir))] = lines
    return found


def numbered(lines: Collection[int], *, most: int = 20) -> str:
    """Return line numbers as a text."""
    told = ", ".join(map(str, list(lines)[:most]))
    return f"lines {told}" + (f" and {len(lines) - most} more" if len(lines) > most else "")


def _names(name: str, texts: Collection[str]) -> bool:
    alone = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)") if len(name) >= LEAST_ID else None
    return any(text == name or (alone is not None and alone.search(text)) for text in texts)


def _texts(line: str) -> Iterator[str]:
    """Yield what a line says: its key with the parts of it, and of its row all values, or all of it where it is no JSON."""
    told = _parsed(line)
    if not isinstance(told, dict):
        yield line
        return
    for text in (told.get("key"), told.get("mark"), told.get("raw")):
        if isinstance(text, str):
            yield text
            yield from re.split(r"[\s:;,|/]+", text)
    yield from _values(_parsed(told.get("raw")))


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _values(each)
    elif isinstance(value, list):
        for each in value:
            yield from _values(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
