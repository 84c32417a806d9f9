"""JSON lines: written to a file that has no name, read as they come from the network."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from tempfile import TemporaryFile
from typing import IO, Any

from discreet.ports import BatchResult

logger = logging.getLogger(__name__)

MAX_LINE = 16_000_000
"""Bytes of one result; more is no answer to a prompt of ours, and would have to fit into memory."""

_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

_SEPARATORS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
"""They may stand in JSON as they are, and some readers end a line at them."""


def line_of(value: Mapping[str, Any]) -> bytes:
    """Return `value` as one line."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for separator, escaped in _SEPARATORS.items():
        written = written.replace(separator, escaped)
    return written.encode() + b"\n"


@asynccontextmanager
async def lines_file(values: Iterable[Mapping[str, Any]]) -> AsyncIterator[IO[bytes]]:
    """Yield a file with a line for each of `values`, at its beginning.

    It has no name, and is gone with the process: a batch is up to 200 MB of what people said.
    """
    with TemporaryFile() as file:
        await asyncio.to_thread(file.writelines, map(line_of, values))
        file.seek(0)
        yield file


def code_of(*given: object) -> str:
    """Return the first that is a code: what a provider says instead may be a sentence that repeats a prompt."""
    return next((str(each) for each in given if each and _CODE.fullmatch(str(each))), "unknown")


async def results_of(
    chunks: AsyncIterator[bytes], parse: Callable[[dict[str, Any]], BatchResult], *, batch_id: str
) -> AsyncIterator[BatchResult]:
    """Yield what `parse` makes of each line. Those that can't be read are left out, and the log tells their number."""
    unreadable = 0
    async for line in split(chunks):
        if not line.strip():
            continue
        try:
            result = parse(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):  # whatever the line is
            unreadable += 1
        else:
            yield result
    if unreadable:
        logger.warning("batch_lines_unreadable batch=%s lines=%d", batch_id, unreadable)


async def split(chunks: AsyncIterator[bytes], *, most: int = MAX_LINE) -> AsyncIterator[bytes]:
    """Yield the lines of a text that comes in pieces; of one that is longer than `most` only its beginning.

    Only a line feed ends a line: the clients' own readers also end it at separators that JSON may contain.
    """
    held: list[bytes] = []
    size = 0
    async for chunk in chunks:
        head, *rest = chunk.split(b"\n")
        if size < most:
            held.append(head)
        size += len(head)
        for piece in rest:
            yield b"".join(held)
            held, size = [piece], len(piece)
    if size:
        yield b"".join(held)
