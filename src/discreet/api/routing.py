"""Routers whose every route knows who calls, reads no more than is taken, and answers errors in one form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import Enum
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.params import Form
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from discreet.access.actor import acting, current_actor, name_actor
from discreet.access.caller import Caller
from discreet.api.actors import actor_of
from discreet.api.dependencies import known_caller, make_dependencies
from discreet.api.errors import ANSWERED, answer_to, answers
from discreet.api.ingress.queries import as_sent
from discreet.api.limits import with_form, with_json
from discreet.api.request_log import GONE
from discreet.api.services import Services
from discreet.api.timing import timed
from discreet.errors import AccessError

Authenticate = Callable[[Request], Awaitable[Caller]]


class KnownRouter(APIRouter):
    """A router whose routes take callers that are known alone."""

    caller: Callable[..., Awaitable[Caller]]
    """Dependency: who calls. It is the router's own, which is solved once a request."""


def make_router(
    services: Services, *, prefix: str = "", tags: Sequence[str | Enum] = (), admin: bool = False
) -> KnownRouter:
    """Return a router whose routes take callers that are known alone; with `admin`, administrators alone.

    Who calls, and whether they may, is settled before a byte of the body is read.
    """
    dependencies = make_dependencies(services)
    authenticate = dependencies.authenticate_admin if admin else dependencies.authenticate
    caller = dependencies.admin if admin else dependencies.caller
    router = KnownRouter(
        prefix=prefix,
        tags=list(tags),
        dependencies=[Depends(caller)],
        route_class=_route_class(services, authenticate),
        responses=answers(401, 403, 503) if admin else answers(401, 503),
        generate_unique_id_function=_operation_id,
    )
    router.caller = caller
    return router


def make_open_router(services: Services, *, prefix: str = "", tags: Sequence[str | Enum] = ()) -> APIRouter:
    """Return a router whose routes take any caller, and so must tell nothing."""
    return APIRouter(
        prefix=prefix,
        tags=list(tags),
        route_class=_route_class(services, authenticate=None),
        generate_unique_id_function=_operation_id,
    )


def _operation_id(route: APIRoute) -> str:
    """Return the name of a route's function: generated clients call their methods by it."""
    return route.name


def _route_class(services: Services, authenticate: Authenticate | None) -> type[APIRoute]:
    """Return the class of a router's routes. Whoever calls is who acts, to the end of an answer that is streamed too.

    A handler of the app would see the errors of the LangGraph server's own routes too, and change its answers.
    """

    class Route(APIRoute):
        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            with acting(current_actor()), timed(self.path_format, self.methods or (), scope, send) as noting:
                await super().handle(scope, receive, noting)

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def answer(request: Request) -> Response:
                request = as_sent(request)
                caller = None
                try:
                    if authenticate is not None:
                        caller = await authenticate(request)
                        name_actor(actor_of(request.scope, caller, services.redactor))
                    if self.body_field is not None:
                        read = with_form if isinstance(self.body_field.field_info, Form) else with_json
                        request = await read(request, services.settings.max_body_bytes)
                    response = await handle(request)
                except ClientDisconnect:  # before its body was there: nobody reads the answer
                    response = Response(status_code=GONE)
                except ANSWERED as error:
                    if isinstance(error, AccessError):
                        caller = caller or known_caller(request)
                        await services.denials.tell(error, actor_of(request.scope, caller, services.redactor))
                    response = answer_to(error)
                response.headers["Cache-Control"] = "no-store"  # somebody's own
                return response

            return answer

    return Route
