"""Count how long requests of the REST API take, by route and never by what they name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException
from starlette.types import Message, Scope, Send

from discreet.metrics import request_seconds

GONE = 499
"""For a client that did not wait for the answer, as nginx has it: no status was sent."""


@contextmanager
def timed(route: str, methods: Collection[str], scope: Scope, send: Send) -> Iterator[Send]:
    """Yield what to send an answer by; when the block ends, it counts under the template `route`.

    A method that is none of `methods` counts as OTHER: clients may write any.
    """
    began, status = time.perf_counter(), 500

    async def noting(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        await send(message)

    try:
        yield noting
    except HTTPException as error:  # answered by whoever calls the route, as for a method that it has not
        status = error.status_code
        raise
    except asyncio.CancelledError:
        status = GONE
        raise
    finally:
        method = scope["method"] if scope["method"] in methods else "OTHER"
        request_seconds.labels(method, route, str(status)).observe(time.perf_counter() - began)
