"""The answer that an export is, for the API and for the admin page."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final

from fastapi.responses import StreamingResponse

from discreet.api.errors import Problem
from discreet.api.services import Services
from discreet.errors import ExportError, InvalidRequestError, StorageError, StorageUnavailableError
from discreet.rights.exporting import begin, lines
from discreet.rights.exporting.stream import ERROR, line_of

logger = logging.getLogger(__name__)

LINES: Final = "application/x-ndjson"


async def export_answer(
    services: Services,
    identity: str,
    *,
    after: str | None = None,
    vectors: bool = False,
    headers: Mapping[str, str] | None = None,
) -> StreamingResponse:
    """Return the export of a user as an answer, which a browser keeps as a file.

    Raises:
        InvalidRequestError: `after` is no mark of an export.
        StorageError: The database can't be reached. Later it ends the stream, whose last line says so.
    """
    if services.storage is None:
        raise StorageUnavailableError
    try:
        export = begin(services.storage(), identity, after=after, vectors=vectors)
    except ExportError:
        raise InvalidRequestError([("after", "is not the `after` of a mark")]) from None
    stream = lines(export)
    first = await anext(stream)
    named = {"Content-Disposition": f'attachment; filename="discreet-export-{export.user}.ndjson"'}
    return StreamingResponse(_rest(first, stream), media_type=LINES, headers={**(headers or {}), **named})


async def _rest(first: bytes, stream: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(stream) as pieces:
        try:
            yield first
            async for piece in pieces:
                yield piece
        except StorageError as error:
            logger.warning("export.broken_off cause=%s", error.code)
            problem = Problem(code=error.code, message=str(error))
            yield line_of(ERROR, problem.model_dump_json(exclude={"fields"}).encode())
