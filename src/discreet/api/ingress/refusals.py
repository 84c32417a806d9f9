"""Refuse a request before anything of it is stored."""

from __future__ import annotations

import json
from typing import Any

from starlette.types import Send

from discreet.errors import AccessError, InputError, UnauthorisedError


class RefusedError(Exception):
    """A request that goes no further. `message` says what to do, and never repeats what was sent."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


def refused(error: AccessError | InputError) -> RefusedError:
    """Return what a caller is told whose credentials don't do, or who named a user that can't be."""
    status = 401 if isinstance(error, UnauthorisedError) else 403 if isinstance(error, AccessError) else 422
    return RefusedError(status, error.code, str(error))


async def refuse(refusal: RefusedError, kind: str, send: Send) -> None:
    """Answer a request (`kind` "http") or a WebSocket that asks to be opened."""
    if kind == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.code})
        return
    # `detail` is what the LangGraph server's own answers have, and what its SDK shows.
    content: dict[str, Any] = {
        "detail": refusal.message,
        "error": {"code": refusal.code, "message": refusal.message, "fields": []},
    }
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:  # noqa: PLR2004  # the status that asks for credentials (RFC 9110, section 11.6.1)
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
