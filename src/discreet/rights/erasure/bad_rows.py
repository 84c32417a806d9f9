"""Rows that imports refused lie raw in files of the data folder: which lines of them are a person's, or tell what they said."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from discreet.rights.erasure.spellings import in_text

FOLDER: Final = "bad-rows"
"""In the data folder."""

LEAST_ID: Final = 8
"""Characters of a user_id that is looked for in texts: a shorter one is in many words."""

_MOST_BYTES: Final = 1 << 26
"""Of a line of bad rows: files without lines are not read whole."""

_OF_BAD_ROWS: Final = frozenset({"mark", "reason", "raw"})
"""What a line has that says which row an import refused; some have `key`, too."""


def is_of_bad_rows(path: Path) -> bool:
    """Return whether a file has a line that an import has written of a row that it refused, wherever the file is.

    Raises:
        OSError: It can't be read.
    """
    with path.open("rb") as file:
        lines = iter(lambda: file.readline(_MOST_BYTES), b"")
        return any(line.startswith(b"{") and b'"raw"' in line and _row(line) is not None for line in lines)


def lines_of(path: Path, *, names: Collection[str] = (), words: Collection[str] = ()) -> list[int]:
    """Return which lines of a file, counted from 1, are of one that `names` name, or have one of `words`.

    It errs towards yes: a name counts wherever it stands by itself, and in a line that is no bad row wherever it is.

    Raises:
        OSError: The file can't be read.
    """
    said = [re.compile(in_text(word)) for word in words]
    anywhere = [*said, *(re.compile(in_text(name)) for name in names if len(name) >= LEAST_ID)]
    found = []
    with path.open(encoding="utf-8", errors="backslashreplace") as file:
        for number, line in enumerate(file, 1):
            row = _row(line)
            texts = [line] if row is None else list(_texts(row))
            sought = anywhere if row is None else said
            if any(_names(name, texts) for name in names) or any(
                each.search(text) for each in sought for text in texts
            ):
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


def _row(line: str | bytes) -> dict[str, Any] | None:
    told = _parsed(line)
    return told if isinstance(told, dict) and _OF_BAD_ROWS <= told.keys() <= {*_OF_BAD_ROWS, "key"} else None


def _texts(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a bad row says: its key with the parts of it, and all values of what the source had."""
    for text in (row.get("key"), row["mark"], row["raw"]):
        if isinstance(text, str):
            yield text
            yield from re.split(r"[\s:;,|/]+", text)
    yield from _values(_parsed(row["raw"]))


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
        if isinstance(value, str) and value[:1] in {"{", "["}:
            yield from _values(_parsed(value))
