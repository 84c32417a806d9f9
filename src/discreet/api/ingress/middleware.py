"""The middleware: who calls, what they may say, and what of it goes on."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from functools import partial
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.access.actor import acting, current_actor
from discreet.access.caller import Caller
from discreet.access.run_user import run_user
from discreet.api.actors import Denials, actor_of
from discreet.api.headers import clean_headers, first_headers
from discreet.api.ingress.answers import LiveAnswer, Restoring
from discreet.api.ingress.bodies import NAMES_OF_ITEMS, UserOf, rewritten
from discreet.api.ingress.body_schemas import shape_of
from discreet.api.ingress.dedup import StoredMessages, mark, refuse_reused
from discreet.api.ingress.inputs import ChecksOf, check_of
from discreet.api.ingress.queries import RAW_QUERY, checked_line, refuse_sensitive_names
from discreet.api.ingress.refusals import REFUSALS, refuse
from discreet.api.ingress.routes import OPEN_PATHS, Kind, is_live, is_own, kind_of, path_of, thread_of
from discreet.api.ingress.sockets import CommandSocket
from discreet.api.ingress.vaulting import hold
from discreet.api.receiving import Taken, capped, instead, read_body, with_length
from discreet.api.services import Authenticates
from discreet.errors import AccessError, RequestError
from discreet.graph.deliveries import REQUEST_WINDOW, Deliveries
from discreet.ports import TextRedactor, TurnVault
from discreet.redaction.beside import beside_loop

LOOPBACK_ROOT = "/noauth"
"""`root_path` of requests that the server's own code makes by `get_client()`; none from outside can set it."""

REFUSED_PATH = "/-"
"""What is logged in the place of a path that may not be."""

LARGE_BYTES = 1_000_000
INLINE_BYTES = 100_000
"""JSON of a smaller body is written on the event loop itself, in about 1 ms."""
LARGE_AT_A_TIME = 2
"""Larger bodies are parsed and redacted two at a time: JSON in RAM may take twenty times what it takes as text."""


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
        checks: ChecksOf = check_of,
        denials: Denials | None = None,
        deliveries: Deliveries | None = None,
        dedup_seconds: float = REQUEST_WINDOW,
        stored: StoredMessages | None = None,
        restore: bool = True,
        max_body_bytes: int = 30_000_000,
        studio: bool = False,
    ) -> None:
        """Stand in front of `app`.

        Args:
            app: The server, or the next middleware.
            authenticator: Tells who calls. The server's own handlers check it again.
            redactor: Puts placeholders.
            vault: Shared with the graphs that run the requests.
            checks: Tells what the graph of an assistant takes.
            denials: Hears who was refused.
            deliveries: Knows a message that is delivered again, in the store that the guarded graph has too. None: each is a
                turn of its own.
            dedup_seconds: For how long after the first arrival the same message in the same thread is taken for it; 0: never.
            stored: Tells what a thread has, so that another message under an id of its own is refused. None: its run fails.
            restore: Whether answers get the real values.
            max_body_bytes: Of one request, or one message of a WebSocket.
            studio: Whether the server lets in who says to be LangGraph Studio. Else they need credentials as all do.
        """
        self._app = app
        self._authenticator = authenticator
        self._redactor = redactor
        self._vault = vault
        self._checks = checks
        self._denials = denials or Denials()
        self._deliveries = deliveries or Deliveries(None)
        self._dedup_seconds = dedup_seconds if deliveries else 0
        self._stored = stored
        self._restore = restore
        self._max_body_bytes = max_body_bytes
        self._studio = studio
        self._large = asyncio.Semaphore(LARGE_AT_A_TIME)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        started, taken = _Started(send), Taken(receive)
        try:
            await self._serve(scope, taken, started)
        except REFUSALS as refusal:
            if started.is_so:  # a body that grew too large while it was answered already
                raise
            await refuse(refusal, scope, taken, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        query: bytes = scope.get("query_string", b"")
        # In place: what calls us logs the scope that it made. Routes of ours read the query as it was sent.
        scope["query_string"], scope["headers"] = b"", clean_headers(scope["headers"], self._redactor)
        path = path_of(scope)
        kind = kind_of(scope["method"], path) if scope["type"] == "http" else Kind.PLAIN
        items = NAMES_OF_ITEMS if kind is Kind.STORE else ()
        check = partial(checked_line, path, query, self._redactor, items)
        try:
            scope["query_string"] = await beside_loop(len(path) + len(query), check)
        except RequestError:  # as above: a redactor of log lines sees the path as it was sent, escaped
            scope["path"], scope["raw_path"] = REFUSED_PATH, REFUSED_PATH.encode()
            raise
        if is_own(path):
            await self._app({**scope, RAW_QUERY: query}, receive, send)
            return
        if path in OPEN_PATHS or scope.get("method") == "OPTIONS":  # whoever asks: what they send is not read
            scope = {**scope, "headers": with_length(scope["headers"], 0)}
            await self._app(scope, instead(b"", receive) if scope["type"] == "http" else receive, send)
            return
        caller = await self._caller(scope)
        actor = current_actor() if caller is None else actor_of(scope, caller, self._redactor)
        user = None if caller is None else self._user_of(caller)
        with acting(actor):
            if scope["type"] == "websocket":
                socket = self._socket(receive, send, path, user)
                await self._app(scope, socket.receive, socket.send)
                return
            if kind is Kind.STORE:
                refuse_sensitive_names(query, scope["query_string"])
            try:
                taken_in = await self._taken_in(scope, receive, send, kind, user)
            except AccessError as refusal:
                await self._denials.tell(refusal, actor)
                raise
            await self._app(*taken_in)

    async def _taken_in(
        self, scope: Scope, receive: Receive, send: Send, kind: Kind, user: UserOf | None
    ) -> tuple[Scope, Receive, Send]:
        """Return a request as it may be stored. Nothing here outlives the return: a run may take minutes, a body 30 MB."""
        raw = await read_body(capped(receive, scope["headers"], self._max_body_bytes), scope["headers"])
        if not raw.strip():
            return scope, instead(b"", receive), send
        path = path_of(scope)
        async with self._large if len(raw) > LARGE_BYTES else nullcontext():
            clean = await asyncio.to_thread(
                rewritten,
                raw,
                kind,
                thread=thread_of(path),
                redactor=self._redactor,
                user=user,
                checks=self._checks,
                shape=shape_of(scope["method"], path),
                dedup_seconds=self._dedup_seconds,
            )
            await refuse_reused(clean.begins, self._stored, self._redactor)
            await mark(self._deliveries, clean.body, clean.delivery, thread=thread_of(path))
            written = await asyncio.to_thread(clean.as_json) if len(raw) > INLINE_BYTES else clean.as_json()
        await hold(self._vault, clean)
        if self._restore and is_live(scope["method"], path):
            send = LiveAnswer(send, Restoring(self._vault, list(clean.parts), clean.values))
        return {**scope, "headers": with_length(scope["headers"], len(written))}, instead(written, receive), send

    async def _caller(self, scope: Scope) -> Caller | None:
        """Return who calls; None for the server's own code, and for the Studio, which it checks.

        Raises:
            UnauthorisedError: Who calls is not known.
        """
        headers = first_headers(scope["headers"])
        own_code = scope.get("root_path", "").startswith(LOOPBACK_ROOT)
        if own_code or (self._studio and headers.get("x-auth-scheme") == "langsmith"):
            return None
        client = scope.get("client")
        try:
            return await self._authenticator.caller(headers, client[0] if client else None)
        except AccessError as refusal:
            await self._denials.tell(refusal, actor_of(scope, None, self._redactor))
            raise

    def _user_of(self, caller: Caller) -> UserOf:
        return lambda named: run_user(caller, named, self._authenticator.identity)

    def _socket(self, receive: Receive, send: Send, path: str, user: UserOf | None) -> CommandSocket:
        return CommandSocket(
            receive,
            send,
            denials=self._denials,
            deliveries=self._deliveries,
            dedup_seconds=self._dedup_seconds,
            stored=self._stored,
            thread=thread_of(path),
            user=user,
            redactor=self._redactor,
            vault=self._vault,
            checks=self._checks,
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
