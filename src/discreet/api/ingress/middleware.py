"""The middleware: who calls, what they may say, and what of it goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.access.run_user import run_user
from discreet.api.ingress.answers import LiveAnswer, Restoring
from discreet.api.ingress.bodies import UserOf, cleaned
from discreet.api.ingress.headers import clean_headers
from discreet.api.ingress.queries import RAW_QUERY, redacted_query, refuse_sensitive_names
from discreet.api.ingress.receiving import capped, instead, read_json, with_length
from discreet.api.ingress.refusals import REFUSALS, refuse
from discreet.api.ingress.routes import OPEN_PATHS, Kind, is_live, is_own, kind_of, thread_of
from discreet.api.ingress.sockets import CommandSocket
from discreet.api.ingress.vaulting import hold
from discreet.api.services import Authenticates
from discreet.errors import NotFoundError
from discreet.ports import TextRedactor, TurnVault

LOOPBACK_ROOT = "/noauth"
"""`root_path` of requests that the server's own code makes by `get_client()`; none from outside can set it."""


class Ingress:
    """Redacts requests before anything stores or logs them, in front of all routes of a LangGraph server.

    A request that creates a run gets a random name, under which the turn vault holds what it really said: `guarded` graphs
    get it back from there. What the answer to it shows its owner has the real values again (`restore`).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticates,
        redactor: TextRedactor,
        vault: TurnVault,
        restore: bool = True,
        max_body_bytes: int = 30_000_000,
    ) -> None:
        """Stand in front of `app`.

        Args:
            app: The server, or the next middleware.
            authenticator: Tells who calls. The server's own handlers check it again.
            redactor: Puts placeholders.
            vault: Shared with the graphs that run the requests.
            restore: Whether answers get the real values.
            max_body_bytes: Of one request, or one message of a WebSocket.
        """
        self._app = app
        self._authenticator = authenticator
        self._redactor = redactor
        self._vault = vault
        self._restore = restore
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        started = _Started(send)
        try:
            await self._serve(scope, receive, started)
        except REFUSALS as refusal:
            if started.is_so:  # a body that grew too large while it was answered already
                raise
            await refuse(refusal, scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        query: bytes = scope.get("query_string", b"")
        clean_query = await asyncio.to_thread(redacted_query, query, self._redactor)
        # In place: what calls us logs the scope that it made. Routes of ours read the query as it was sent.
        scope["query_string"], scope["headers"] = clean_query, clean_headers(scope["headers"], self._redactor)
        path = self._checked_path(scope)
        if is_own(path):
            await self._app({**scope, RAW_QUERY: query}, receive, send)
            return
        user = await self._user(scope, path)
        if scope["type"] == "websocket":
            socket = self._socket(receive, send, path, user)
            await self._app(scope, socket.receive, socket.send)
            return
        kind = kind_of(scope["method"], path)
        if kind is Kind.STORE:
            refuse_sensitive_names(query, clean_query)
        body = await read_json(capped(receive, scope["headers"], self._max_body_bytes), scope["headers"])
        if body is None:
            await self._app(scope, instead(b"", receive), send)
            return
        clean = await asyncio.to_thread(cleaned, body, kind, thread=thread_of(path), redactor=self._redactor, user=user)
        await hold(self._vault, clean)
        if self._restore and is_live(scope["method"], path):
            send = LiveAnswer(send, Restoring(self._vault, list(clean.parts), clean.values))
        written = json.dumps(clean.body).encode()
        scope = {**scope, "headers": with_length(scope["headers"], len(written))}
        await self._app(scope, instead(written, receive), send)

    def _checked_path(self, scope: Scope) -> str:
        """Return the path.

        Raises:
            NotFoundError: It holds a sensitive value, and would be logged.
        """
        path: str = scope["path"]
        if not is_own(path) and any(self._redactor.redact(part) != part for part in unquote(path).split("/") if part):
            raise NotFoundError
        return path

    async def _user(self, scope: Scope, path: str) -> UserOf | None:
        """Return what names the user of who calls; None for the server's own code, the Studio, and where anybody may.

        Raises:
            UnauthorisedError: Who calls is not known.
        """
        headers = _headers(scope)
        own_code = scope.get("root_path", "").startswith(LOOPBACK_ROOT)
        studio = headers.get("x-auth-scheme") == "langsmith"  # the server checks it
        if own_code or studio or path in OPEN_PATHS or scope.get("method") == "OPTIONS":
            return None
        client = scope.get("client")
        caller = await self._authenticator.caller(headers, client[0] if client else None)
        return lambda named: run_user(caller, named, self._authenticator.identity)

    def _socket(self, receive: Receive, send: Send, path: str, user: UserOf | None) -> CommandSocket:
        return CommandSocket(
            receive,
            send,
            thread=thread_of(path),
            user=user,
            redactor=self._redactor,
            vault=self._vault,
            restore=self._restore,
            max_bytes=self._max_body_bytes,
        )


class _Started:
    """A `send` that knows whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_so = False

    async def __call__(self, message: Any) -> None:
        self.is_so = True
        await self._send(message)


def _headers(scope: Scope) -> Mapping[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
