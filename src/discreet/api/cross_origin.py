"""Let browsers read what is answered in front of a server that shares its answers with pages of other origins."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.api.receiving import Headers, header, instead

ALLOW_ORIGIN: Final = b"access-control-allow-origin"
ALLOW_CREDENTIALS: Final = b"access-control-allow-credentials"


class CrossOrigin:
    """Gives answers that lack CORS headers those that the server behind it would give.

    A LangGraph server puts its CORS layer behind the middleware of `http.app`. What that middleware refuses would reach a page
    as a network error, without the status and the sentence that say why. The server is asked by a preflight request, so that
    its `http.cors` alone decides.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand in front of `app`, which holds what refuses requests and behind that the CORS layer."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        origin = header(scope["headers"], b"origin") if scope["type"] == "http" else None
        if origin is None or scope["method"] == "OPTIONS":
            await self._app(scope, receive, send)
            return

        async def allowing(message: Message) -> None:
            if message["type"] == "http.response.start" and header(message["headers"], ALLOW_ORIGIN) is None:
                message = {**message, "headers": [*message["headers"], *await self._allowed(scope, origin)]}
            await send(message)

        await self._app(scope, receive, allowing)

    async def _allowed(self, scope: Scope, origin: bytes) -> Headers:
        """Return the headers that let a page of `origin` read an answer; none if it may not, or if there is no CORS layer."""
        asked = [(b"origin", origin), (b"access-control-request-method", scope["method"].encode("ascii"))]
        preflight = {**scope, "method": "OPTIONS", "path": "/", "raw_path": b"/", "query_string": b"", "headers": asked}
        found: list[tuple[bytes, bytes]] = []

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                found.extend(each for each in message["headers"] if each[0] in {ALLOW_ORIGIN, ALLOW_CREDENTIALS})

        async def nothing() -> Message:
            return {"type": "http.disconnect"}

        await self._app(preflight, instead(b"", nothing), note)
        return [*found, (b"vary", b"Origin")] if found else []
