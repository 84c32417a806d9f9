"""Show the metrics, to administrators and to whoever has the token for them."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST

from discreet.api.dependencies import make_dependencies
from discreet.api.errors import answers
from discreet.api.routing import make_open_router
from discreet.api.services import Services
from discreet.metrics_server import exposition


def make_metrics_router(services: Services) -> APIRouter:
    """Return the route."""
    router = make_open_router(services, prefix="/memory", tags=["operation"])

    @router.get(
        "/metrics",
        summary="Show the metrics of this process, or of all that share a folder",
        dependencies=[Depends(make_dependencies(services).scraper)],
        response_class=Response,
        responses={
            200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
            **answers(401, 403, 503),
        },
    )
    def read_metrics() -> Response:  # in a thread: with several processes files are read
        return Response(exposition(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return router
