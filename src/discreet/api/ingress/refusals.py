"""Refuse a request before anything of it is stored."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

from starlette.responses import JSONResponse
from starlette.types import Scope, Send

from discreet.api.errors import answer_to
from discreet.api.receiving import Taken, header
from discreet.errors import AccessError, InputError, RequestError

REFUSALS = (AccessError, RequestError, InputError)
"""What a request can be refused by."""

Refusal = AccessError | RequestError | InputError

POLICY_VIOLATION = 1008
"""Why a WebSocket is closed (RFC 6455, section 7.4.1)."""


MOST_DISCARDED = 100_000_000
"""Bytes of a refused body that are read and dropped."""
DISCARD_SECONDS = 30.0


async def refuse(refusal: Refusal, scope: Scope, taken: Taken, send: Send) -> None:
    """Answer a request, or close a WebSocket that asks to be opened.

    What is left of the body is dropped behind the answer: a connection that is closed with bytes unread is reset, and
    whoever is still sending never sees why.
    """
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": refusal.code})
        return
    answer = answer_to(refusal)
    headers = {name: value for name, value in answer.headers.items() if not name.startswith("content-")}
    headers["connection"] = "close"  # of a body that is longer still the rest is not read: nothing can follow it
    # `detail` is what the LangGraph server's own answers have, and what its SDK shows.
    content = {"detail": str(refusal), **json.loads(bytes(answer.body))}
    response = JSONResponse(content, answer.status_code, headers)
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    if header(scope["headers"], b"expect") is None:  # else the client waits with the body until it is asked for it
        with suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                await taken.discard(MOST_DISCARDED)
    await send({"type": "http.response.body", "body": b"", "more_body": False})
