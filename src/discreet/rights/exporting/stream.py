"""An export as one stream of JSON lines: a header, the records with a mark after each page, and the manifest at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from discreet.rights.exporting.exporter import Export, Page
from discreet.rights.exporting.format import KINDS, ExportRecord, Header, Manifest, MarkLine, Part

HEADER: Final = "header"
MARK: Final = "mark"
MANIFEST: Final = "manifest"
ERROR: Final = "error"
"""Kinds of lines that are no records."""


def line_of(kind: str, record: ExportRecord) -> bytes:
    """Return a line of a stream."""
    return b'{"kind":"%s","data":%s}\n' % (kind.encode(), record.model_dump_json().encode())


class Sums:
    """Counts and checksums of the records that passed, by kind."""

    def __init__(self) -> None:
        self._hashes: defaultdict[str, Any] = defaultdict(sha256)
        self._rows: defaultdict[str, int] = defaultdict(int)
        self._bytes: defaultdict[str, int] = defaultdict(int)

    def add(self, kind: str, data: bytes) -> None:
        """Count a record, which is `data` as JSON without a newline."""
        self._hashes[kind].update(data + b"\n")
        self._rows[kind] += 1
        self._bytes[kind] += len(data) + 1

    def parts(self) -> list[Part]:
        """Return what there is of each kind."""
        return [
            Part(kind=kind, rows=self._rows[kind], bytes=self._bytes[kind], sha256=self._hashes[kind].hexdigest())
            for kind in KINDS
        ]


async def lines(export: Export) -> AsyncGenerator[bytes]:
    """Yield the stream, some whole lines at a time.

    Raises:
        StorageError: The database failed. Another stream may go on after the last mark.
    """
    epoch = await export.epoch()
    after = export.begins.token if export.begins.key or export.begins.kind != next(iter(KINDS)) else None
    passed = sha256()
    sums = Sums()
    piece = line_of(HEADER, Header(user=export.user, made_at=export.made_at, after=after))
    passed.update(piece)
    yield piece
    async with aclosing(export.pages()) as pages:
        async for page in pages:
            piece = _records(page, sums)
            passed.update(piece)
            if page.after is not None and piece:
                mark = line_of(MARK, MarkLine(after=page.after.token, sha256=passed.hexdigest()))
                passed.update(mark)
                piece += mark
            if piece:
                yield piece
    manifest = Manifest(
        user=export.user,
        made_at=export.made_at,
        finished_at=datetime.now(UTC),
        vectors=export.reading.vectors,
        after=after,
        parts=sums.parts(),
        unreadable=dict(export.unreadable),
        erased_meanwhile=await export.epoch() != epoch,
    )
    yield line_of(MANIFEST, manifest)


def _records(page: Page, sums: Sums) -> bytes:
    """Return the lines of a page."""
    written = []
    for kind in dict.fromkeys((page.kind, "unreadable")):
        for record in page.of(kind):
            data = record.model_dump_json().encode()
            sums.add(kind, data)
            written.append(b'{"kind":"%s","data":%s}\n' % (kind.encode(), data))
    return b"".join(written)
