"""Let a server's own `/ok?check_db=1` say no while our database is down: else it and `/memory/health/ready` disagree."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.api.ingress.routes import path_of

PATH: Final = "/ok"
TRUE: Final = frozenset({"1", "true", "yes", "on"})


class Readiness:
    """Stands in front of a server's readiness check. Plain `/ok` tells that the process lives, and passes."""

    def __init__(self, app: ASGIApp, *, is_ready: Callable[[], Awaitable[bool]]) -> None:
        """Stand in front of `app`; `is_ready` tells whether our parts can work."""
        self._app = app
        self._is_ready = is_ready

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 503 where the database is asked for and is down; else pass the request on."""
        if scope["type"] == "http" and path_of(scope) == PATH and _asks(scope) and not await self._is_ready():
            await JSONResponse({"ok": False}, status_code=503)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _asks(scope: Scope) -> bool:
    query: bytes = scope.get("query_string", b"")
    values = parse_qs(query.decode("latin-1")).get("check_db", ())
    return any(value.lower() in TRUE for value in values)
