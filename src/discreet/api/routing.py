"""Routers whose every route knows who calls, reads no more than is taken, and answers errors in one form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import Enum
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.params import Form
from fastapi.routing import APIRoute

from discreet.access.caller import Caller
from discreet.api.dependencies import make_dependencies
from discreet.api.errors import ANSWERED, answer_to, answers
from discreet.api.ingress.queries import as_sent
from discreet.api.limits import with_form, with_json
from discreet.api.services import Services

Authenticate = Callable[[Request], Awaitable[Caller]]


def make_router(
    services: Services, *, prefix: str = "", tags: Sequence[str | Enum] = (), admin: bool = False
) -> APIRouter:
    """Return a router whose routes take callers that are known alone; with `admin`, administrators alone.

    Who calls, and whether they may, is settled before a byte of the body is read.
    """
    dependencies = make_dependencies(services)
    authenticate = dependencies.authenticate_admin if admin else dependencies.authenticate
    return APIRouter(
        prefix=prefix,
        tags=list(tags),
        dependencies=[Depends(dependencies.admin if admin else dependencies.caller)],
        route_class=_route_class(services.settings.max_body_bytes, authenticate),
        responses=answers(401, 403, 503) if admin else answers(401, 503),
    )


def make_open_router(services: Services, *, prefix: str = "", tags: Sequence[str | Enum] = ()) -> APIRouter:
    """Return a router whose routes take any caller, and so must tell nothing."""
    return APIRouter(
        prefix=prefix, tags=list(tags), route_class=_route_class(services.settings.max_body_bytes, authenticate=None)
    )


def _route_class(max_body_bytes: int, authenticate: Authenticate | None) -> type[APIRoute]:
    """Return the class of a router's routes.

    A handler of the app would see the errors of the LangGraph server's own routes too, and change its answers.
    """

    class Route(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def answer(request: Request) -> Response:
                request = as_sent(request)
                try:
                    if authenticate is not None:
                        await authenticate(request)
                    if self.body_field is not None:
                        read = with_form if isinstance(self.body_field.field_info, Form) else with_json
                        request = await read(request, max_body_bytes)
                    response = await handle(request)
                except ANSWERED as error:
                    response = answer_to(error)
                response.headers["Cache-Control"] = "no-store"  # somebody's own
                return response

            return answer

    return Route
