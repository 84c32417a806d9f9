"""Who calls, as the server's `auth` hands it from the request to the handlers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from langgraph_sdk.auth import Auth, is_studio_user

from discreet.access.actor import Actor
from discreet.access.caller import Caller
from discreet.access.identity import is_identity
from discreet.access.subjects import STUDIO
from discreet.api.actors import Denials
from discreet.api.headers import first_headers
from discreet.api.services import Authenticates
from discreet.errors import AccessError, InputError, UnauthorisedError
from discreet.graph.extraction import EVERYBODY

NAMES_USERS = "users:name"
"""Permission of a caller who may say whose memories are meant."""

ADMINISTERS = EVERYBODY
"""Permission of an administrator."""

STUDIO_IDENTITY = "langgraph-studio-user"
"""What `langgraph dev` calls who comes from the Studio; it asks no token of them."""

Ctx = Auth.types.AuthContext
Value: TypeAlias = Any
"""A dict. The SDK's types of it lack some of what servers send."""


class Callers:
    """Reads callers from requests and from contexts."""

    def __init__(self, authenticator: Authenticates, denials: Denials | None = None) -> None:
        self._authenticator = authenticator
        self._denials = denials or Denials()

    async def authenticate(self, scope: dict[str, Any]) -> Mapping[str, Any]:
        """Return what the server may know of who calls. It stores that with every run: an identity, and no name.

        Raises:
            HTTPException: The credentials are missing or wrong.
        """
        client = scope.get("client")
        try:
            caller = await self._authenticator.caller(first_headers(scope["headers"]), client[0] if client else None)
        except AccessError as error:
            await self._denials.tell(error, Actor(kind="user", ip_address=client[0] if client else None))
            raise refusal(error) from None
        return {"identity": caller.identity, "permissions": _permissions(caller)}

    def of(self, ctx: Ctx) -> Caller:
        """Return who calls. The Studio of a development server is one user, and none of those who have tokens.

        Raises:
            HTTPException: It is somebody whom `authenticate` has not seen, such as an account of LangSmith.
        """
        identity = ctx.user.identity
        if identity == STUDIO_IDENTITY:
            return Caller(subject=STUDIO, identity=self.identity(STUDIO))
        if is_studio_user(ctx.user) or not is_identity(identity):
            raise Auth.exceptions.HTTPException(
                403, "This account is not known here. Set auth.disable_studio_auth to true."
            )
        return Caller(subject=identity, identity=identity, names_users=NAMES_USERS in ctx.permissions)

    def identity(self, subject: str) -> str:
        """Return what the database knows `subject` by."""
        return self._authenticator.identity(subject)


def _permissions(caller: Caller) -> list[str]:
    given = {NAMES_USERS: caller.names_users, ADMINISTERS: caller.admin}
    return [name for name, holds in given.items() if holds]


def refusal(error: AccessError | InputError) -> Exception:
    """Return what the server answers with."""
    status = 401 if isinstance(error, UnauthorisedError) else 403 if isinstance(error, AccessError) else 422
    return Auth.exceptions.HTTPException(status, str(error))
