"""The REST API as one application, alone or inside the LangGraph server."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Lifespan

from discreet.api.errors import access_handler
from discreet.api.services import Services
from discreet.errors import AccessError

TITLE = "Discreet"


def make_app(services: Services, *, lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """Return the application over `services`, whose owner closes them after it.

    It can be the `http.app` of a LangGraph server: that one serves /docs and /openapi.json, and answers the errors of
    its own routes.
    """
    app = FastAPI(title=TITLE, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    # FastAPI's own handler would answer for the LangGraph server's routes too.
    del app.exception_handlers[HTTPException]
    app.add_exception_handler(AccessError, access_handler)
    app.add_exception_handler(RequestValidationError, access_handler)
    include(app, _routers(services))
    return app


def include(app: FastAPI, routers: Iterable[APIRouter]) -> None:
    """Give `app` the routes themselves: the LangGraph server puts its middleware around each, and can't around a router."""
    for router in routers:
        app.router.routes.extend(router.routes)


def _routers(_services: Services) -> Iterable[APIRouter]:
    return ()
