"""One line a request: its id, method, route, status and time. Never its path as it was sent, nor its query."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Collection, Iterable
from typing import Final

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

REQUEST_ID: Final = b"x-request-id"
ID_FORM: Final = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
"""What a client may call its request; another id becomes one of ours."""

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
GONE: Final = 499
"""For a client that did not wait for the answer, as nginx has it: no status was sent."""
QUIET: Final = frozenset({"/ok", "/memory/health", "/memory/health/live", "/memory/health/ready", "/memory/metrics"})
"""Routes that machines ask for all the time: told only if they fail."""
FAILED: Final = 500
UNKNOWN: Final = "-"
ACCESS_LOG: Final = "uvicorn.access"
"""The logger of lines that have paths and queries as they were sent."""


class RequestLog:
    """Logs each request of an application once it is answered, and gives it an id.

    The id is the client's `X-Request-Id`, else a new one; the application reads it in that header, and the answer has it too.
    Put it outermost: `log_requests` does.
    """

    def __init__(self, app: ASGIApp, *, quiet: Collection[str] = QUIET) -> None:
        """Log what `app` answers, but for `quiet` routes that are well."""
        self._app = app
        self._quiet = frozenset(quiet)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, headers = _identified(scope)
        scope = {**scope, "headers": headers}
        began, status = time.perf_counter(), FAILED

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                others = [each for each in message.get("headers", ()) if each[0].lower() != REQUEST_ID]
                message = {**message, "headers": [*others, (REQUEST_ID, request_id)]}
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except asyncio.CancelledError:
            status = GONE
            raise
        finally:
            self._tell(scope, request_id.decode("ascii"), status, time.perf_counter() - began)

    def _tell(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = _template(scope)
        if route in self._quiet and status < FAILED:
            return
        logger.log(
            logging.ERROR if status >= FAILED else logging.INFO,
            "request request_id=%s method=%s route=%s status=%d milliseconds=%.1f",
            request_id,
            scope["method"] if scope["method"] in METHODS else "OTHER",
            route,
            status,
            seconds * 1000,
        )


def _identified(scope: Scope) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Return the id of a request, and its headers with it."""
    named = [value for name, value in scope["headers"] if name == REQUEST_ID]
    request_id = named[0] if len(named) == 1 and ID_FORM.fullmatch(named[0]) else str(uuid.uuid4()).encode("ascii")
    others = [each for each in scope["headers"] if each[0] != REQUEST_ID]
    return request_id, [*others, (REQUEST_ID, request_id)]


def _template(scope: Scope) -> str:
    """Return the route of a request as it was declared, `-` if it has none."""
    found = getattr(scope.get("route"), "path", None)  # layers between here and it may have handed a copy on
    return found or _matching(scope, getattr(scope.get("app"), "routes", ())) or UNKNOWN


def _matching(scope: Scope, routes: Iterable[BaseRoute]) -> str | None:
    """Return the template of the route that a request goes to: of one that takes its method, else of one with its path."""
    partial = None
    for route in routes:
        match, child = route.matches(scope)
        path = getattr(route, "path", "") or ""
        if isinstance(route, Mount) and match is not Match.NONE:
            inner = _matching({**scope, **child}, route.routes)
            if inner is not None:
                return path + inner
        elif match is Match.FULL:
            return path or None
        elif match is Match.PARTIAL:
            partial = partial or path
    return partial


def log_requests(app: Starlette, *, server: str | None = None) -> None:
    """Log the requests of `app`, unless the server that it is part of does: the one whose logger is named `server`, at level INFO.

    At another level that server tells failed requests only; these lines of it are then left out, since ours tell them. So is
    uvicorn's access log. Call it last, so that what other layers refuse is logged too.
    """
    if server is not None:
        theirs = logging.getLogger(server)
        if theirs.isEnabledFor(logging.INFO):
            return
        theirs.addFilter(_is_no_request)
    logging.getLogger(ACCESS_LOG).addFilter(_never)
    app.add_middleware(RequestLog)


def _is_no_request(record: logging.LogRecord) -> bool:
    """Tell a line of a LangGraph server's about a request from its others."""
    return not (isinstance(record.msg, dict) and {"method", "status", "latency_ms"} <= record.msg.keys())


def _never(_record: logging.LogRecord) -> bool:
    """Leave a line out. A level or `disabled` would be set anew when uvicorn configures logging after the application is there."""
    return False
