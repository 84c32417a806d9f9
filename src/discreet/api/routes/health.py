"""Tell whether this process lives, can work, and how its parts are: to anybody, and no more than that."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from discreet.api.health import Health, HealthChecks
from discreet.api.routing import make_open_router
from discreet.api.services import Services


class Alive(BaseModel):
    """The process answers."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    status: Literal["ok"] = "ok"


def make_health_router(services: Services) -> APIRouter:
    """Return the routes."""
    router = make_open_router(services, prefix="/memory", tags=["operation"])
    checks = HealthChecks(services)

    @router.get("/health/live", summary="Tell whether the process answers")
    async def read_liveness() -> Alive:
        return Alive()

    down: dict[int | str, dict[str, Any]] = {
        503: {"model": Health, "description": "The database is down, or being started again."}
    }

    @router.get("/health", summary="Tell whether the parts work", responses=down)
    @router.get("/health/ready", name="read_readiness", summary="Tell whether requests can be served", responses=down)
    async def read_health(response: Response) -> Health:
        found = await checks.read()
        if found.database != "ok":
            response.status_code = 503
        return found

    return router
