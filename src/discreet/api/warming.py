"""Load what the first turn needs while nobody waits for it."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.api.admin.area import FOLDER as ADMIN_PAGES
from discreet.api.me.area import FOLDER as MY_PAGES
from discreet.api.pages.rendering import templates
from discreet.nodes.memory_gate import decide
from discreet.ports import TextRedactor
from discreet.providers.tokens import count_tokens
from discreet.redaction.held_logs import HeldLogs

logger = logging.getLogger(__name__)

UNDECIDED = "What could be on a boat?"
"""The gate's rules leave it open, so that the local embedding and the weights are loaded too."""


LONGEST_SECONDS = 3.0
"""Without a request for so long nobody seems to wait for the server."""


class FirstAnswer:
    """Sets `answered` once a request is over: whoever waited for the server to start has been told that it has."""

    def __init__(self, app: ASGIApp, *, answered: asyncio.Event) -> None:
        self._app = app
        self._answered = answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on."""
        try:
            await self._app(scope, receive, send)
        finally:
            if scope["type"] == "http":
                self._answered.set()


async def warm_later(answered: asyncio.Event, redactor: TextRedactor, logs: HeldLogs | None = None) -> None:
    """Warm, in a thread, once the first request is answered: before, it would keep the server from starting."""
    with suppress(TimeoutError):
        await asyncio.wait_for(answered.wait(), LONGEST_SECONDS)
    await asyncio.to_thread(warm, redactor, logs)


def warm(redactor: TextRedactor, logs: HeldLogs | None = None) -> None:
    """Redact, let log lines go that wait for it, decide and count once. It took the first turn of a server 1.0 s; here it is done beside the start."""
    started = time.perf_counter()
    try:
        redactor.redact(UNDECIDED)
        if logs is not None:
            logs.release()
        decide(UNDECIDED)
        count_tokens(UNDECIDED)
        for folder in (ADMIN_PAGES, MY_PAGES):
            templates(folder)
    except Exception as error:  # noqa: BLE001  # the first turn meets it again, and says what is wrong or goes on without
        logger.warning("server_not_warmed cause=%s", type(error).__name__)
    else:
        logger.info("server_warmed seconds=%.2f", time.perf_counter() - started)
