"""Entries of a file that holds them as one JSON list, as the file-based store of a prototype does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

from discreet.importing.source import BadRow, SourceRow
from discreet.importing.sources.reading.records import memory_of
from discreet.importing.sources.reading.rows import UnreadableRowError, made_row
from discreet.importing.sources.reading.texts import bytes_of, elements, is_text, open_text, paged
from discreet.importing.sources.reading.values import checked
from discreet.state.records import MemoryRecord


class JsonStoreSource:
    """A file of entries. It is read as it goes, however large it is."""

    name = "json"

    def __init__(self, path: Path) -> None:
        self._path = path

    async def count(self) -> None:
        """Say that nobody knows before all of it is read."""

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow]:
        """Yield its entries.

        Raises:
            ImportSourceError: It can't be read, is no list, or breaks off.
        """
        number = 0
        with open_text(self._path) as file:
            async for said, value in paged(elements(file)):
                number += 1
                mark = f"{number:012}"
                if after is None or mark > after:
                    yield made_row(mark, bytes_of(said), partial(_entry, said, value))


def open_json(path: str) -> JsonStoreSource:
    """Return the source that reads the file `path`."""
    return JsonStoreSource(Path(path))


def _entry(said: str, value: Any) -> tuple[str | None, MemoryRecord]:
    if not is_text(said):
        raise UnreadableRowError("The entry is not UTF-8: convert the file (iconv -t UTF-8).")
    if not isinstance(value, dict):
        raise UnreadableRowError("The entry is no JSON object.")
    return memory_of(checked(value, "entry"), source="json")
