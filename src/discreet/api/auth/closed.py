"""Routes of the LangGraph server that ask nobody who they are, and are closed."""

from __future__ import annotations

import json

from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.api.ingress.routes import path_of

CLOSED = ("/internal", "/deploy")
"""`langgraph dev` has these besides its API, outside of its authentication: one shows any thread, one erases everything, and
the others deploy the project."""


def is_closed(path: str) -> bool:
    """Tell whether a path leads to one of them."""
    return any(path == closed or path.startswith(f"{closed}/") for closed in CLOSED)


class ClosedPaths:
    """Answers 404 in their place."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or not is_closed(path_of(scope)):
            await self._app(scope, receive, send)
            return
        body = json.dumps({"detail": "Not Found"}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 404, "headers": headers})
        await send({"type": "http.response.body", "body": body})
