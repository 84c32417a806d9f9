"""Let Aegra's own `/ready` and `/health` say no while what a run needs is away: they ask Aegra's database alone.

`/live` tells that the process lives, and passes: to start it again brings back no Redis.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from aegra_api.core.redis_manager import redis_manager
from aegra_api.settings import settings
from redis.exceptions import RedisError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.api.health import FRESH_SECONDS, PATIENCE_SECONDS, Fresh
from discreet.api.ingress.routes import path_of

logger = logging.getLogger(__name__)

PATHS: Final = frozenset({"/ready", "/health"})

Answers: TypeAlias = Callable[[], Awaitable[bool]]
"""Whether a part can be asked."""


class Ready:
    """Middleware that answers 503, in Aegra's form, and names the parts that are away; with all of them Aegra answers."""

    def __init__(self, app: ASGIApp, *, parts: Mapping[str, Answers]) -> None:
        self._app = app
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and path_of(scope) in PATHS:
            found = await asyncio.gather(*(answers() for answers in self._parts.values()))
            away = [name for name, there in zip(self._parts, found, strict=True) if not there]
            if away:
                await _not_ready(away)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def broker() -> dict[str, Answers]:
    """Return the Redis by which Aegra hands runs on (REDIS_URL), asked once a second at most; nothing where it uses none."""
    return {"redis": Fresh(_redis_answers, FRESH_SECONDS).get} if settings.redis.REDIS_BROKER_ENABLED else {}


async def _redis_answers() -> bool:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await redis_manager.get_client().ping()
    except (RedisError, OSError, TimeoutError) as error:
        logger.warning("health.down part=redis code=%s", type(error).__name__)
        return False
    return True


def _not_ready(away: list[str]) -> JSONResponse:
    message = f"Service not ready - can't be reached: {', '.join(away)}"
    return JSONResponse(
        {"error": "service_unavailable", "message": message, "details": {"down": away}}, status_code=503
    )
