"""Refuse a request before anything of it is stored."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from discreet.api.errors import answer_to
from discreet.errors import AccessError, InputError, RequestError

REFUSALS = (AccessError, RequestError, InputError)
"""What a request can be refused by."""

Refusal = AccessError | RequestError | InputError

POLICY_VIOLATION = 1008
"""Why a WebSocket is closed (RFC 6455, section 7.4.1)."""


async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or close a WebSocket that asks to be opened."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": refusal.code})
        return
    answer = answer_to(refusal)
    headers = {name: value for name, value in answer.headers.items() if not name.startswith("content-")}
    headers["connection"] = "close"  # the body may not have been read: another request can't follow it
    # `detail` is what the LangGraph server's own answers have, and what its SDK shows.
    content = {"detail": str(refusal), **json.loads(bytes(answer.body))}
    await JSONResponse(content, answer.status_code, headers)(scope, receive, send)
