"""Say who may read what is one's own, and who not any more."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from discreet.access import Caller
from discreet.access.subjects import ANONYMOUS, RESERVED, STUDIO
from discreet.api.dependencies import make_dependencies
from discreet.api.errors import answers
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import User, any_user_of, identity_of
from discreet.api.values import Moment, UserName
from discreet.errors import DelegationError, NotFoundError
from discreet.state.described import describe_fields
from discreet.storage.delegation import Delegation

NOBODY_IN_PARTICULAR = (
    f"“{ANONYMOUS}” and “{STUDIO}” are whoever calls without credentials, and can be nobody's delegate. Name a person."
)


class Grant(BaseModel):
    """Who is to read what."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_fields)

    delegate_id: Annotated[str, Field(min_length=1, max_length=200)]
    """Who may read, as their token or key names them."""
    user_id: UserName | None = None
    """Whose entries: yours, if you leave it out. An administrator may name anybody."""
    expires_at: Moment | None = None
    """Until when; until it is revoked, if you leave it out."""


class Granted(BaseModel):
    """Who may read a user's entries, or might."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    user_id: str
    """Whose entries, as you know them."""
    delegate_key: UUID
    """Stands for the delegate, whose name is not kept."""
    granted_at: datetime
    """Since when."""
    expires_at: datetime | None
    """Until when; null: until it is revoked."""
    revoked_at: datetime | None
    """When it was revoked; null: it was not."""
    holds: bool
    """Whether they may read now."""

    @classmethod
    def of(cls, delegation: Delegation, user: User) -> "Granted":
        """Return `delegation` as `user` sees it."""
        return cls(
            user_id=user.shown,
            delegate_key=delegation.delegate_key,
            granted_at=delegation.granted_at.astimezone(UTC),
            expires_at=delegation.expires_at and delegation.expires_at.astimezone(UTC),
            revoked_at=delegation.revoked_at and delegation.revoked_at.astimezone(UTC),
            holds=delegation.holds(datetime.now(UTC)),
        )


class Delegates(BaseModel):
    """A user's delegations, newest first."""

    delegations: list[Granted]


def make_delegations_router(services: Services) -> APIRouter:
    """Return the routes; none if there is nowhere to keep delegations."""
    router = make_router(services, prefix="/memory/delegations", tags=["rights"])
    known = make_dependencies(services).caller
    delegations = services.delegations
    if delegations is None:
        return router

    @router.post(
        "",
        status_code=201,
        summary="Let somebody read one's entries",
        description="They name the user by `user_id` where entries are listed, read and searched. A grant that is there is replaced.",
        responses=answers(400, 403, 413, 415, 422),
    )
    async def add_delegation(wanted: Grant, caller: Annotated[Caller, Depends(known)]) -> Granted:
        user = any_user_of(services, caller, wanted.user_id)
        delegate = identity_of(services, wanted.delegate_id)
        if delegate in map(services.authenticator.identity, RESERVED):
            raise DelegationError(NOBODY_IN_PARTICULAR)
        granted = await delegations.grant(user.identity, delegate, by=caller.identity, expires_at=wanted.expires_at)
        return Granted.of(granted, user)

    @router.get("", summary="List who may read one's entries", responses=answers(403, 422))
    async def list_delegations(caller: Annotated[Caller, Depends(known)], user_id: str | None = None) -> Delegates:
        user = any_user_of(services, caller, user_id)
        found = await delegations.list(user.identity)
        return Delegates(delegations=[Granted.of(each, user) for each in found])

    @router.delete(
        "/{delegate_key}", status_code=204, summary="Let somebody read no longer", responses=answers(403, 404, 422)
    )
    async def revoke_delegation(
        delegate_key: UUID, caller: Annotated[Caller, Depends(known)], user_id: str | None = None
    ) -> None:
        user = any_user_of(services, caller, user_id)
        if not await delegations.revoke(user.identity, delegate_key):
            raise NotFoundError

    return router
