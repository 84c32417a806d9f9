"""The REST API as one application, alone or inside the LangGraph server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Lifespan

from discreet.api.actors import actor_of
from discreet.api.admin import make_admin_router
from discreet.api.dependencies import known_caller
from discreet.api.documentation import add_documentation
from discreet.api.errors import access_handler, answer_to
from discreet.api.me import make_me_router
from discreet.api.routes.delegations import make_delegations_router
from discreet.api.routes.entries import make_entries_router
from discreet.api.routes.erasure import make_erasure_router
from discreet.api.routes.exporting import make_exporting_router
from discreet.api.routes.extraction import make_extraction_router
from discreet.api.routes.feedback import make_feedback_router
from discreet.api.routes.health import make_health_router
from discreet.api.routes.jobs import make_jobs_router
from discreet.api.routes.listing import make_listing_router
from discreet.api.routes.metrics import make_metrics_router
from discreet.api.routes.proposals import make_proposals_router
from discreet.api.routes.searching import make_searching_router
from discreet.api.routes.sessions import make_sessions_router
from discreet.api.routes.settings import make_settings_router
from discreet.api.services import Services
from discreet.errors import AccessError

if TYPE_CHECKING:  # FastAPI has it since it traces by itself; older ones take what they don't know
    from fastapi.telemetry import TelemetryConfig

TITLE = "Discreet"

NO_TELEMETRY: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI's own spans have paths and queries as they were sent, its logs what exceptions say."""

ROUTERS: Final[Sequence[Callable[[Services], APIRouter]]] = (
    make_entries_router,
    make_listing_router,
    make_feedback_router,
    make_searching_router,
    make_sessions_router,
    make_extraction_router,
    make_jobs_router,
    make_proposals_router,
    make_exporting_router,
    make_erasure_router,
    make_delegations_router,
    make_settings_router,
    make_health_router,
    make_metrics_router,
    make_admin_router,
    make_me_router,
)
"""What the application is made of, one subject each."""


def make_app(services: Services, *, lifespan: Lifespan[FastAPI] | None = None, documented: bool = False) -> FastAPI:
    """Return the application over `services`, whose owner closes them after it.

    It can be the `http.app` of a LangGraph server: that one serves /docs and /openapi.json, and answers the errors of
    its own routes. Alone it has these pages itself if it is to be `documented`.
    """
    app = FastAPI(
        title=TITLE, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan, telemetry=NO_TELEMETRY
    )
    # FastAPI's own handler would answer for the LangGraph server's routes too.
    del app.exception_handlers[HTTPException]
    app.add_exception_handler(AccessError, _denying(services))
    app.add_exception_handler(RequestValidationError, access_handler)
    include(app, _routers(services))
    if documented:
        add_documentation(app)
    return app


def _denying(services: Services) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, error: Exception) -> Response:
        assert isinstance(error, AccessError)  # as the app calls it
        await services.denials.tell(error, actor_of(request.scope, known_caller(request), services.redactor))
        return answer_to(error)

    return handler


def include(app: FastAPI, routers: Iterable[APIRouter]) -> None:
    """Give `app` the routes themselves: the LangGraph server puts its middleware around each, and can't around a router."""
    for router in routers:
        app.router.routes.extend(router.routes)


def _routers(services: Services) -> Iterable[APIRouter]:
    return [make(services) for make in ROUTERS]
