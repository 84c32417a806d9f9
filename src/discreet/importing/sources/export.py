"""Rows of what `discreet export` wrote: a folder, or a stream in a file. Its checksums are checked before anything is yielded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from discreet.errors import ExportError, ImportSourceError, InvalidRecordError
from discreet.importing.checking import EXPORT
from discreet.importing.source import BadRow, LeftOutRow, SourceRow, StoreItem, ThreadState
from discreet.rights.exporting import KINDS, read_export, read_manifest
from discreet.rights.exporting.format import ExportRecord, ItemRow, MemoryRow, MessageRow, ThreadRow
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord
from discreet.state.text import storable

_PAGE = 200

_ROWS, _USES, _STATES = "1", "2", "3"
"""What marks begin with: all rows; then again the memories, for how they were used: both of a pair have to be there; then the
threads, each with its messages."""

_LEFT_OUT: Final[Mapping[str, str]] = {
    "rounds": "short-term memory has them for a day",
    "batch_requests": "prompts that are under way elsewhere, or done",
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
        async for number, state in _numbered(self._states()):
            mark = f"{_STATES}:{number:012}"
            if after is None or mark > after:
                yield SourceRow(mark=mark, user_id=None, record=state)

    async def _states(self) -> AsyncIterator[ThreadState]:
        """Yield the threads, each with the messages that its newest state has. Of one after the other all messages are read."""
        threads: dict[str, list[ThreadRow]] = {}
        messages: dict[tuple[str, str, int], MessageRow] = {}
        at: str | None = None
        async for _, record in self._records():
            if isinstance(record, ThreadRow):
                threads.setdefault(record.thread_id, []).append(record)
            elif isinstance(record, MessageRow):
                if record.thread_id != at:
                    for thread in threads.pop(at or "", ()):
                        yield _state(thread, messages)
                    at, messages = record.thread_id, {}
                messages[record.checkpoint_ns, record.channel, record.position] = record
        for thread in threads.pop(at or "", ()):
            yield _state(thread, messages)
        for rest in threads.values():
            for thread in rest:
                yield _state(thread, {})

    async def _records(self) -> AsyncIterator[tuple[int, ExportRecord]]:
        records = enumerate(read_export(self._path), 1)
        while page := await asyncio.to_thread(_page, records):
            for numbered in page:
                yield numbered

    async def _stage(
        self, stage: str, made: Callable[[str, ExportRecord], SourceRow | BadRow | LeftOutRow | None]
    ) -> AsyncIterator[SourceRow | BadRow | LeftOutRow]:
        async for number, record in self._records():
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


def _row(mark: str, record: ExportRecord) -> SourceRow | BadRow | LeftOutRow | None:
    if isinstance(record, (ThreadRow, MessageRow)):
        return None
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


def _state(row: ThreadRow, messages: Mapping[tuple[str, str, int], MessageRow]) -> ThreadState:
    """Return where a thread stands. A message that is missing was erased by itself."""
    lists: dict[str, list[MessageRow]] = {}
    for channel, first, last in row.message_runs:
        places = ((row.checkpoint_ns, channel, position) for position in range(first, last + 1))
        lists.setdefault(channel, []).extend(messages[place] for place in places if place in messages)
    values = {channel: value for channel, value in row.values.items() if channel not in lists}
    named = row.model_dump(include={"thread_id", "checkpoint_ns", "checkpoint_id", "created_at"})
    return ThreadState(**named, values=values, messages=lists)


async def _numbered(states: AsyncIterator[ThreadState]) -> AsyncIterator[tuple[int, ThreadState]]:
    number = 0
    async for state in states:
        number += 1
        yield number, state


def _use(mark: str, record: ExportRecord) -> SourceRow | None:
    if isinstance(record, MemoryRow) and (record.hits or record.contradicted_by):
        return SourceRow(mark=mark, user_id=None, record=record.model_copy(update={"vector": None}))
    return None
