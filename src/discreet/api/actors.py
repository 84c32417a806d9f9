"""Who acts by a request, and who was refused: for the audit trail."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from ipaddress import ip_address

from starlette.types import Scope

from discreet.access.actor import Actor, ActorKind, acting
from discreet.access.caller import Caller
from discreet.api.headers import clean_headers, first_headers
from discreet.errors import AccessError, ForbiddenError, StorageError
from discreet.ports import AuditLog, NoAudit, TextRedactor
from discreet.state.text import storable

logger = logging.getLogger(__name__)

MAX_AGENT_CHARS = 200
"""Of a client's name for itself."""

WINDOW_SECONDS = 60.0
MAX_DENIALS = 100
"""Told in so many seconds, by a process. Whoever sends more must not fill the trail, or have everybody wait for it."""


def actor_of(scope: Scope, caller: Caller | None, redactor: TextRedactor) -> Actor:
    """Return who acts by a request; without `caller`, somebody who is unknown."""
    kind: ActorKind = "admin" if caller is not None and caller.admin else "user"
    return actor_by(scope, kind, None if caller is None else caller.identity, redactor)


def actor_by(scope: Scope, kind: ActorKind, identity: str | None, redactor: TextRedactor) -> Actor:
    """Return the actor of that identity, by a request."""
    headers = first_headers(clean_headers(scope["headers"], redactor))
    client, agent = scope.get("client"), headers.get("user-agent")
    return Actor(
        kind=kind,
        identity=identity,
        request_id=headers.get("x-request-id"),
        ip_address=_address(client[0]) if client else None,
        user_agent=None if agent is None else redactor.redact(storable(agent[:MAX_AGENT_CHARS])),
    )


def _address(host: str) -> str | None:
    """Return an IP address, None for anything else: servers that believe proxies take whatever `X-Forwarded-For` says."""
    try:
        return str(ip_address(host.strip().partition("%")[0]))  # a zone may be any text
    except ValueError:
        return None


class Denials:
    """Tells the audit trail who was refused. That it can't be told lets nobody in."""

    def __init__(self, audit: AuditLog | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Tell `audit`; `clock` gives seconds."""
        self._audit = audit or NoAudit()
        self._clock = clock
        self._window_ends = -1.0
        self._told = self._left_out = 0

    async def tell(self, error: AccessError, actor: Actor) -> None:
        """Tell that `actor` was refused by `error`: in the chain of whose data it was about, if that is known."""
        if not self._may_tell():
            self._left_out += 1
            return
        counts, self._left_out = {"left_out": self._left_out} if self._left_out else {}, 0
        whose = error.whose if isinstance(error, ForbiddenError) else None
        try:
            with acting(actor):
                await self._audit.record("access.denied", user_key=whose, data=error.code, success=False, counts=counts)
        except StorageError as failure:
            logger.warning("audit.denial_not_told cause=%s", failure.code)

    def _may_tell(self) -> bool:
        now = self._clock()
        if now >= self._window_ends:
            self._window_ends, self._told = now + WINDOW_SECONDS, 0
        self._told += 1
        return self._told <= MAX_DENIALS
