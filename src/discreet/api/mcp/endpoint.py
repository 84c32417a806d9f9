"""The endpoint of the protocol: one exchange a request, for callers that are known, and for no page of another site."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from discreet.access.loopback import is_loopback, is_loopback_name, name_of
from discreet.api.actors import actor_by, actor_of
from discreet.api.dependencies import known_caller, make_dependencies
from discreet.api.errors import answer_to
from discreet.api.services import Services
from discreet.errors import AccessError, ForbiddenError
from discreet.mcp.server import Context, Speaker, make_server
from discreet.mcp.tools import OfferedTools

OTHER_SITE: Final = (
    "This request comes from a page of another site, or under a name that is not this machine's. A proxy in front must send "
    "the Host that it connects to, and no Origin of its own."
)


class McpEndpoint:
    """Answers each message by itself, without a session: any process may take any, and a restart is not noticed."""

    def __init__(self, services: Services, tools: OfferedTools) -> None:
        """Offer `tools` to whom the authenticator of `services` knows."""
        self._services = services
        self._authenticate = make_dependencies(services).authenticate
        # Hosts and origins are checked here: the SDK takes lists of names, and logs what it refuses.
        self._sessions = StreamableHTTPSessionManager(
            make_server(tools, self._speaker_of), json_response=True, stateless=True
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take requests inside the block, once."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        try:
            _check_site(request)
            await self._authenticate(request)
        except AccessError as error:
            actor = actor_of(scope, known_caller(request), self._services.redactor)
            await self._services.denials.tell(error, actor)
            await answer_to(error)(scope, receive, send)
            return
        if request.method != "POST":  # the server begins no messages, and has no sessions to be ended
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        await self._sessions.handle_request(scope, receive, send)

    async def _speaker_of(self, context: Context) -> Speaker:
        request = context.request
        assert isinstance(request, Request)
        caller = known_caller(request)
        assert caller is not None  # nobody else comes as far
        actor = actor_by(request.scope, "mcp", caller.identity, self._services.redactor)
        return Speaker(user_id=caller.identity, actor=actor)


def _check_site(request: Request) -> None:
    """Refuse what a browser sends for a page of another site, as the protocol demands, by whatever name it found us.

    Raises:
        ForbiddenError: It comes from elsewhere.
    """
    host, origin = request.headers.get("host"), request.headers.get("origin")
    here, server = name_of(f"//{host}"), request.scope.get("server")
    if server is not None and is_loopback(server[0]) and not is_loopback_name(here):
        raise ForbiddenError(OTHER_SITE)
    if origin is not None and (site := name_of(origin)) != here and not is_loopback_name(site):
        raise ForbiddenError(OTHER_SITE)
