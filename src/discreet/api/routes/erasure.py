"""Erase what is kept of a user, all or a part, and hand out the receipt."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.access import Caller
from discreet.api.dependencies import make_dependencies
from discreet.api.erasing import erasures_of
from discreet.api.errors import answers
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import any_user_of
from discreet.api.values import Id, Said, UserName
from discreet.errors import InvalidRequestError, NotFoundError
from discreet.rights.erasure import MAX_DAYS, RECENT_DAYS, Counts, Receipt, Scope, ScopeName
from discreet.state.described import describe_fields
from discreet.state.ids import check_user_id


class ErasureRequest(BaseModel):
    """What is to go."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_fields)

    scope: ScopeName
    """`all`; `recent`; one `memory` with what tells it; one `thread` with what came of it; or what the user `said`: a fact,
    what tells it, and the turns that it comes from."""
    user_id: UserName | None = None
    """Whose; the caller by default. An administrator may name anybody."""
    days: Annotated[float, Field(gt=0, le=MAX_DAYS)] | None = None
    """How many of them are `recent`. Default: 7."""
    session_id: Id | None = None
    """Of `thread`."""
    entry_id: UUID | None = None
    """Of `memory`; of `said`, if a memory tells it."""
    text: Annotated[Said, Field(max_length=1_000)] = ""
    """Of `said`, in the user's words, else."""
    dry_run: bool = False
    """Only count what would go."""

    def as_scope(self) -> Scope:
        """Return what it asks for.

        Raises:
            InvalidRequestError: It doesn't say what is meant, or says two things.
        """
        said: dict[str, object] = {
            "name": self.scope,
            "thread_id": self.session_id,
            "entry_id": self.entry_id,
            "text": self.text,
        }
        if self.scope == "recent" or self.days is not None:
            said["since"] = Scope.recent(self.days or RECENT_DAYS).since
        try:
            return Scope.model_validate(said)
        except ValidationError:
            raise InvalidRequestError([("scope", "needs to be told what is meant, and one thing alone")]) from None


class Erased(BaseModel):
    """What went, or would go."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    state: Literal["erased", "counted"]
    """`counted`: nothing was changed."""
    counts: Counts
    """How many, by place and kind."""
    receipt: Receipt | None
    """Signed; `discreet verify-erasure` checks it."""


def make_erasure_router(services: Services) -> APIRouter:
    """Return the routes; none if there is nothing to erase from."""
    router = make_router(services, prefix="/memory", tags=["rights"])
    known = make_dependencies(services).caller
    if services.storage is None:
        return router

    @router.post(
        "/erasure",
        summary="Erase what is kept of a user, all or a part",
        description="What is under way for them stores nothing any more; what they say afterwards is kept as ever. If the "
        "answer is lost, the erasure goes on all the same.",
        responses=answers(400, 403, 413, 415, 422),
    )
    async def erase_memory(asked: ErasureRequest, caller: Annotated[Caller, Depends(known)]) -> Erased:
        user = any_user_of(services, caller, asked.user_id)
        scope, erasures = asked.as_scope(), erasures_of(services)
        if asked.dry_run:
            return Erased(state="counted", counts=await erasures.preview(user.identity, scope), receipt=None)
        receipt = await erasures.erase(user.identity, scope)
        return Erased(state="erased", counts=receipt.counts, receipt=receipt)

    @router.get("/erasure/{erasure_key}", summary="Read the receipt of an erasure", responses=answers(403, 404, 422))
    async def read_erasure_receipt(
        erasure_key: UUID, caller: Annotated[Caller, Depends(known)], user_id: str | None = None
    ) -> Receipt:
        user = any_user_of(services, caller, user_id)
        erasures = erasures_of(services)
        found = await erasures.receipt(check_user_id(user.identity), erasure_key)
        if found is None:
            raise NotFoundError
        return found

    return router
