"""Read a file of JSON: a list, an object that holds one, or a line for each row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from discreet.errors import ImportSourceError
from discreet.importing.sources.reading.rows import raw_of
from discreet.importing.sources.reading.values import checked, parsed

_LINES: Final = {".jsonl", ".ndjson"}
_BOM: Final = b"\xef\xbb\xbf"
_PAGE = 200


@dataclass(frozen=True)
class JsonRow:
    """One row of a file."""

    number: int
    """From 1."""
    stored: Any
    """The line as bytes, or what the list holds."""

    @property
    def mark(self) -> str:
        """Its number, so written that marks grow with it."""
        return f"{self.number:012}"

    @property
    def raw(self) -> bytes:
        """As the file has it, or nearly so."""
        return self.stored if isinstance(self.stored, bytes) else raw_of(self.stored)

    def value(self) -> Any:
        """Return what it holds.

        Raises:
            UnreadableRowError: It is no JSON, or holds what can't be stored.
        """
        return parsed(self.stored, "row") if isinstance(self.stored, bytes) else checked(self.stored, "row")


class JsonFile:
    """A file. A line for each row is read some at a time; a list is in memory as a whole, as it was for whoever wrote it."""

    def __init__(self, path: str, *, lists: Sequence[str] = ()) -> None:
        """Read `path`. `lists` are the names under which an object may hold the list."""
        self._path = Path(path)
        self._lists = lists
        self._loaded: list[Any] | None = None
        self._by_lines: bool | None = None

    async def count(self) -> int:
        """Return how many rows there are.

        Raises:
            ImportSourceError: It can't be read.
        """
        return sum([1 async for _row in self.rows()])

    async def rows(self, *, after: str | None = None) -> AsyncIterator[JsonRow]:
        """Yield the rows, those that come after the mark `after`.

        Raises:
            ImportSourceError: It can't be read.
        """
        if self._by_lines is None:
            await asyncio.to_thread(self._load)
        numbered = self._lines() if self._loaded is None else _numbered(self._loaded)
        async for row in numbered:
            if after is None or row.mark > after:
                yield row

    async def _lines(self) -> AsyncIterator[JsonRow]:
        number = 0
        try:
            with self._path.open("rb") as file:
                while page := await asyncio.to_thread(_page, file):
                    for line in page:
                        number += 1
                        if stripped := line.strip().removeprefix(_BOM):
                            yield JsonRow(number, stripped)
        except OSError as error:
            raise _unreadable(error) from None

    def _load(self) -> None:
        """Load the file, if it is one list or one object; its lines are rows otherwise."""
        self._by_lines = self._path.suffix.lower() in _LINES
        if self._by_lines:
            return
        try:
            content = self._path.read_bytes().removeprefix(_BOM).lstrip()
        except OSError as error:
            raise _unreadable(error) from None
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            if not content.startswith(b"{"):
                raise ImportSourceError("The file is no JSON, or breaks off.") from None
            self._by_lines = True
            return
        if isinstance(document, dict):
            held = next((document[name] for name in self._lists if isinstance(document.get(name), list)), None)
            document = [document] if held is None else held
        if not isinstance(document, list):
            raise ImportSourceError("The file holds neither a list nor objects.")
        self._loaded = document


async def _numbered(values: Sequence[Any]) -> AsyncIterator[JsonRow]:
    for number, value in enumerate(values, 1):
        yield JsonRow(number, value)


def _page(file: IO[bytes]) -> list[bytes]:
    return list(islice(file, _PAGE))


def _unreadable(error: OSError) -> ImportSourceError:
    return ImportSourceError(f"The file can't be read ({type(error).__name__}).")
