"""Tell whether the parts work, to anybody, and no more than that."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

import asyncio
import logging
from collections.abc import Awaitable
from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from discreet.api.routing import make_open_router
from discreet.api.services import Services
from discreet.errors import StorageBusyError, StorageError

PATIENCE_SECONDS = 2.0
"""Who asks are load balancers, which wait some seconds at most."""

_NOBODY = "health check"
_NO_ENTRY = UUID(int=0)


State = Literal["ok", "busy", "down"]

logger = logging.getLogger(__name__)


class Health(BaseModel):
    """Whether the parts work."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    status: Literal["ok", "degraded"]
    """`degraded`: a part is down."""
    database: Literal["ok", "restarting", "down"]
    """`ok`: entries can be read and stored. `restarting`: the embedded server ended and is being started again."""
    pool: Literal["ok", "busy"]
    """`busy`: the database works, and requests wait for each other's connections to it."""
    short_term: Literal["ok", "down"]
    """Sessions and Idempotency-Keys are known. Conversations go on without."""


def make_health_router(services: Services) -> APIRouter:
    """Return the route."""
    router = make_open_router(services, prefix="/memory", tags=["operation"])

    @router.get(
        "/health",
        summary="Tell whether the parts work",
        responses={503: {"model": Health, "description": "The database is down."}},
    )
    async def health(response: Response) -> Health:
        database, short_term = await asyncio.gather(
            _state("database", _of_database(services)),
            _state("short_term", services.short_term.session_state(_NOBODY, _NOBODY)),
        )
        if database == "busy" and services.settings.redis_url is None:
            short_term = "ok"  # it is in the database, and its question only stood in line
        if database == "down":
            response.status_code = 503
        restarting = database == "down" and services.restarting()
        return Health(
            status="degraded" if "down" in {database, short_term} else "ok",
            database="restarting" if restarting else "down" if database == "down" else "ok",
            pool="busy" if database == "busy" else "ok",
            short_term="down" if short_term == "down" else "ok",
        )

    return router


async def _of_database(services: Services) -> State:
    if services.health is not None:
        return await services.health.state()
    await services.memories.get(_NOBODY, _NO_ENTRY)
    return "ok"


async def _state(part: str, question: Awaitable[object]) -> State:
    """Return what `question` answers, if that is `busy`; `ok` for any other answer."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return "busy" if await question == "busy" else "ok"
    except StorageBusyError:
        return "busy"
    except StorageError as error:
        logger.warning("health.down part=%s code=%s", part, error.code)
    except TimeoutError:
        logger.warning("health.down part=%s code=timeout", part)
    return "down"
