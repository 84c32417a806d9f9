"""An export as one stream of JSON lines: a header, the records with a mark after each page, and the manifest at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from discreet.rights.exporting.exporter import Export, Mark
from discreet.rights.exporting.format import KINDS, Header, Manifest, MarkLine, Sum

HEADER: Final = "header"
MARK: Final = "mark"
MANIFEST: Final = "manifest"
ERROR: Final = "error"
"""Kinds of lines that are no records."""


def line_of(kind: str, data: bytes) -> bytes:
    """Return a line of a stream; `data` is JSON."""
    return b'{"kind":"%s","data":%s}\n' % (kind.encode(), data)


async def lines(export: Export) -> AsyncGenerator[bytes]:
    """Yield the stream, some whole lines at a time.

    Raises:
        StorageError: The database failed. Another stream may go on after the last mark.
    """
    epoch = await export.epoch()
    after = None if export.begins == Mark() else export.begins.token
    header = Header(user=export.user, made_at=export.made_at, after=after)
    piece = line_of(HEADER, header.model_dump_json().encode())
    passed, sums = sha256(piece), {kind: Sum() for kind in KINDS}
    yield piece
    async with aclosing(export.pages()) as pages:
        async for page in pages:
            lines_of_page = []
            for kind, data in page.encoded():
                sums[kind].add(data + b"\n")
                lines_of_page.append(line_of(kind, data))
            if not lines_of_page:
                continue
            piece = b"".join(lines_of_page)
            passed.update(piece)
            if page.after is not None:
                mark = MarkLine(after=page.after.token, sha256=passed.hexdigest())
                line = line_of(MARK, mark.model_dump_json().encode())
                passed.update(line)
                piece += line
            yield piece
    manifest = Manifest(
        user=export.user,
        made_at=export.made_at,
        finished_at=datetime.now(UTC),
        vectors=export.reading.vectors,
        after=after,
        parts=[each.part(kind) for kind, each in sums.items()],
        unreadable=dict(export.unreadable),
        erased_meanwhile=await export.epoch() != epoch,
    )
    yield line_of(MANIFEST, manifest.model_dump_json().encode())
