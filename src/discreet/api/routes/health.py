"""Tell whether the parts work, to anybody, and no more than that."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

import asyncio
from collections.abc import Awaitable
from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from discreet.api.routing import make_open_router
from discreet.api.services import Services
from discreet.errors import StorageError

PATIENCE_SECONDS = 2.0
"""Who asks are load balancers, which wait some seconds at most."""

_NOBODY = "health check"
_NO_ENTRY = UUID(int=0)


class Health(BaseModel):
    """Whether the parts work."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    status: Literal["ok", "degraded"]
    """`degraded`: a part is down."""
    database: Literal["ok", "down"]
    """Entries can be read and stored."""
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
            _state(services.memories.get(_NOBODY, _NO_ENTRY)),
            _state(services.short_term.session_state(_NOBODY, _NOBODY)),
        )
        if database == "down":
            response.status_code = 503
        well = database == short_term == "ok"
        return Health(status="ok" if well else "degraded", database=database, short_term=short_term)

    return router


async def _state(question: Awaitable[object]) -> Literal["ok", "down"]:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await question
    except (StorageError, TimeoutError):
        return "down"
    return "ok"
