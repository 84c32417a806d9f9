"""Who calls, for the routes: as FastAPI dependencies, and as OpenAPI's security schemes."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from discreet.access.caller import Caller
from discreet.api.services import Services
from discreet.errors import ForbiddenError

_CALLER = "discreet.caller"
"""Where the scope of a request keeps who sends it. No client can write there."""

_bearer = HTTPBearer(auto_error=False, description="A token that names its subject, signed as the server demands.")
_api_key = APIKeyHeader(name="x-api-key", auto_error=False, description="A key as `discreet key --api` makes them.")


@dataclass(frozen=True, kw_only=True)
class Dependencies:
    """Made by `make_dependencies`."""

    authenticate: Callable[[Request], Awaitable[Caller]]
    """Returns who sends a request, checked once a request. Raises `UnauthorisedError`."""
    authenticate_admin: Callable[[Request], Awaitable[Caller]]
    """As `authenticate`, for an administrator. Raises `ForbiddenError` for others."""
    caller: Callable[..., Awaitable[Caller]]
    """Dependency: who calls; 401 if that is not known."""
    admin: Callable[..., Awaitable[Caller]]
    """Dependency: an administrator who calls; 403 for others."""
    scraper: Callable[..., Awaitable[None]]
    """Dependency: who has DISCREET_METRICS_TOKEN, or an administrator; 403 for others."""


def known_caller(request: Request) -> Caller | None:
    """Return who sends a request, if that was checked before."""
    known = request.scope.get(_CALLER)
    return known if isinstance(known, Caller) else None


def make_dependencies(services: Services) -> Dependencies:
    """Return the dependencies over the authenticator of `services`.

    Example:
        >>> deps = make_dependencies(services)  # doctest: +SKIP
        >>> @router.get("/mine")  # doctest: +SKIP
        ... async def mine(caller: Annotated[Caller, Depends(deps.caller)]): ...
    """

    async def authenticate(request: Request) -> Caller:
        known = known_caller(request)
        if known is not None:
            return known
        # Starlette joins nothing: of a header that comes twice the first counts, here as for whoever reads it next.
        headers = {name.lower(): request.headers[name] for name in request.headers}
        host = None if request.client is None else request.client.host
        caller = await services.authenticator.caller(headers, host)
        request.scope[_CALLER] = caller
        return caller

    async def authenticate_admin(request: Request) -> Caller:
        caller = await authenticate(request)
        if not caller.admin:
            raise ForbiddenError
        return caller

    async def caller(
        request: Request,
        _bearer_token: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
        _key: Annotated[str | None, Security(_api_key)],
    ) -> Caller:
        return await authenticate(request)

    async def admin(request: Request, _caller: Annotated[Caller, Depends(caller)]) -> Caller:
        return await authenticate_admin(request)

    async def scraper(
        request: Request,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
        _key: Annotated[str | None, Security(_api_key)],
    ) -> None:
        token = services.settings.metrics_token
        if token is None or bearer is None or not _same(bearer.credentials, token.get_secret_value()):
            await authenticate_admin(request)

    return Dependencies(
        authenticate=authenticate,
        authenticate_admin=authenticate_admin,
        caller=caller,
        admin=admin,
        scraper=scraper,
    )


def _same(said: str, token: str) -> bool:
    """Return whether two tokens are one, in a time that doesn't tell how much of them is."""
    return hmac.compare_digest(said.encode(), token.encode())
