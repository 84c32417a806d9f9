"""Show the counters of this process, to administrators."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from discreet.api.routing import make_router
from discreet.api.services import Services


def make_metrics_router(services: Services) -> APIRouter:
    """Return the route."""
    router = make_router(services, prefix="/memory", tags=["operation"], admin=True)

    @router.get(
        "/metrics",
        summary="Show the metrics of this process",
        response_class=Response,
        responses={
            200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
        },
    )
    async def metrics() -> Response:
        return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return router
