"""Rows of what `discreet export` wrote: a folder, or a stream in a file. Its checksums are checked before anything is yielded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from discreet.errors import ExportError, ImportSourceError, InvalidRecordError
from discreet.importing.checking import EXPORT
from discreet.importing.source import BadRow, LeftOutRow, SourceRow, StoreItem
from discreet.rights.exporting import KINDS, read_export, read_manifest
from discreet.rights.exporting.format import ExportRecord, ItemRow, MemoryRow
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord
from discreet.state.text import storable

_PAGE = 200

_ROWS, _USES = "1", "2"
"""What marks begin with: all rows, and then again the memories, for how they were used. Both of a pair have to be there."""

_THREADS: Final = "checkpoints of graphs belong to the database that they ran in"
_LEFT_OUT: Final[Mapping[str, str]] = {
    "rounds": "short-term memory has them for a day",
    "batch_requests": "prompts that are under way elsewhere, or done",
    "threads": _THREADS,
    "messages": _THREADS,
    "delegations": "who may read is for the user to say again",
    "setting_changes": "they are of the other installation",
    "audit": "a trail tells what was done in its own database",
    "unreadable": "the export could not read them",
}

_NOT_OF_A_RECORD: Final = {"contradicted_by", "hits", "last_hit", "space", "vector"}


class ExportSource:
    """An export."""

    name = EXPORT

    def __init__(self, path: Path) -> None:
        self._path = path

    async def count(self) -> int:
        """Return how many rows its manifest says there are.

        Raises:
            ImportSourceError: It can't be read.
        """
        try:
            manifest = await asyncio.to_thread(read_manifest, self._path)
        except ExportError as error:
            raise ImportSourceError(str(error)) from None
        return sum(part.rows for part in manifest.parts)

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow | LeftOutRow]:
        """Yield its rows, in the order of the export.

        Raises:
            ImportSourceError: It can't be read, is not whole, or was changed.
        """
        for stage, made in ((_ROWS, _row), (_USES, _use)):
            if after is not None and after[0] > stage:
                continue
            async for row in self._stage(stage, made):
                if after is None or row.mark > after:
                    yield row

    async def _stage(
        self, stage: str, made: Callable[[str, ExportRecord], SourceRow | BadRow | LeftOutRow | None]
    ) -> AsyncIterator[SourceRow | BadRow | LeftOutRow]:
        records = enumerate(read_export(self._path), 1)
        while page := await asyncio.to_thread(_page, records):
            for number, record in page:
                if (row := made(f"{stage}:{number:012}", record)) is not None:
                    yield row


def open_export(path: str) -> ExportSource:
    """Return the source that reads the folder or the file `path`."""
    return ExportSource(Path(path))


def _page(records: Iterator[tuple[int, ExportRecord]]) -> list[tuple[int, ExportRecord]]:
    try:
        return list(islice(records, _PAGE))
    except ExportError as error:
        raise ImportSourceError(str(error)) from None


_KIND_OF: Final = {model: kind for kind, model in KINDS.items()}


def _row(mark: str, record: ExportRecord) -> SourceRow | BadRow | LeftOutRow:
    kind = _KIND_OF[type(record)]
    if kind in _LEFT_OUT:
        return LeftOutRow(mark=mark, kind=kind, reason=_LEFT_OUT[kind])
    stored: Any = record
    if isinstance(record, ItemRow):
        stored = StoreItem(**{**record.model_dump(), "namespace": tuple(record.namespace)})
    elif isinstance(record, MemoryRow):
        try:
            stored = _memory(record)
        except InvalidRecordError as error:
            return BadRow(mark=mark, reason=str(error), raw=record.model_dump_json().encode())
    return SourceRow(mark=mark, user_id=None, record=stored)


def _memory(row: MemoryRow) -> MemoryRecord:
    """Return the memory. A text may be longer than one that is given: redaction may have made it so."""
    values = row.model_dump(exclude=_NOT_OF_A_RECORD)
    if MAX_MEMORY_CHARS < len(row.text) <= 2 * MAX_MEMORY_CHARS:
        record = MemoryRecord(**{**values, "text": row.text[:MAX_MEMORY_CHARS]})
        return record.model_copy(update={"text": storable(row.text)})
    return MemoryRecord(**values)


def _use(mark: str, record: ExportRecord) -> SourceRow | None:
    if isinstance(record, MemoryRow) and (record.hits or record.contradicted_by):
        return SourceRow(mark=mark, user_id=None, record=record.model_copy(update={"vector": None}))
    return None
