"""The request that is being answered: Aegra hands its authentication the headers alone, and of repeated ones the last."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

_scope: Final[ContextVar[dict[str, Any] | None]] = ContextVar("discreet_aegra_scope", default=None)


class Arriving:
    """Middleware that lets `arriving` tell of its request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        token = _scope.set(dict(scope))
        try:
            await self._app(scope, receive, send)
        finally:
            _scope.reset(token)


def arriving() -> dict[str, Any]:
    """Return the ASGI scope of the request that this task answers.

    Raises:
        LookupError: It answers none, or none that came through `Arriving`.
    """
    scope = _scope.get()
    if scope is None:
        raise LookupError
    return scope
