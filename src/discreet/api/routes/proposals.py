"""Memories that wait until somebody accepts them: their owner, or an administrator."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, Strict

from discreet.access import Caller
from discreet.api.dependencies import make_dependencies
from discreet.api.entries import Entry
from discreet.api.errors import answers
from discreet.api.paging import LINKED, Paging, follow
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import User, any_user_of
from discreet.api.values import Labels, Said
from discreet.errors import NotFoundError
from discreet.state.background import Proposal
from discreet.state.described import describe_fields
from discreet.state.records import MAX_MEMORY_CHARS, MemoryType

FactType = Literal["user_fact", "preference", "event", "conversation_insight", "important_moment"]
"""What a proposal may become."""

SOURCE = "api"
"""The door that an edited text came through."""


class ProposedMemory(BaseModel):
    """A memory that waits."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    proposal_key: UUID
    """Unique id."""
    user_id: str
    """Whose it is, as you know them."""
    created_at: datetime
    """When it was proposed."""
    text: str
    """What would be remembered, redacted."""
    type: MemoryType
    """Kind of memory."""
    importance: int
    """1 to 10."""
    confidence: float
    """How sure the model was, 0 to 1."""
    tags: list[str]
    """Free labels."""
    session_id: str | None
    """The conversation that it was said in."""
    app_name: str
    """The application that it belongs to."""
    said_at: datetime
    """When it was said."""

    @classmethod
    def of(cls, proposal: Proposal, user: User) -> "ProposedMemory":
        """Return `proposal` as `user` sees it."""
        record = proposal.record
        return cls(
            proposal_key=proposal.proposal_key,
            user_id=user.shown,
            created_at=proposal.created_at.astimezone(UTC),
            session_id=record.thread_id,
            said_at=record.created_at.astimezone(UTC),
            **{
                name: getattr(record, name) for name in ("text", "type", "importance", "confidence", "tags", "app_name")
            },
        )


class ProposalPage(BaseModel):
    """Memories that wait, oldest first."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    proposals: list[ProposedMemory]
    """At most `limit`."""
    next: str | None
    """What to send as `cursor` for the page after this one; null: there is none. The Link header has its address."""


class Whose(Paging):
    """Whose proposals, and which page of them."""

    user_id: str | None = None


class Acceptance(BaseModel):
    """What is to be different about the memory; what is left out stays as it was proposed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_fields)

    text: Annotated[Said, Field(min_length=1, max_length=MAX_MEMORY_CHARS)] | None = None
    """What is to be remembered instead. Redacted before it is stored."""
    type: FactType | None = None
    """Kind of memory."""
    importance: Annotated[int, Strict(), Field(ge=1, le=10)] | None = None
    """1 (trivial) to 10 (vital)."""
    tags: Labels | None = None
    """Free labels."""


def make_proposals_router(services: Services) -> APIRouter:
    """Return the routes; none if nothing is made of conversations."""
    router = make_router(services, prefix="/memory/proposals", tags=["extraction"])
    known = make_dependencies(services).caller
    if services.background is None:
        return router
    proposals = services.background.proposals

    @router.get("", summary="List memories that wait, oldest first", responses={**LINKED, **answers(403, 422)})
    async def list_proposals(
        asked: Annotated[Whose, Query()],
        request: Request,
        response: Response,
        caller: Annotated[Caller, Depends(known)],
    ) -> ProposalPage:
        user = any_user_of(services, caller, asked.user_id)
        found = await proposals.waiting(user.identity, limit=asked.limit + 1, after=asked.mark)
        shown, more = found[: asked.limit], found[asked.limit :]
        following = follow(request, response, (shown[-1].created_at, shown[-1].proposal_key) if more else None)
        return ProposalPage(proposals=[ProposedMemory.of(each, user) for each in shown], next=following)

    @router.post(
        "/{proposal_key}/accept",
        summary="Keep a memory that waits, perhaps with changes",
        description="The entry may come back as one that was known already.",
        responses=answers(400, 403, 404, 413, 415, 422),
    )
    async def accept_proposal(
        proposal_key: UUID,
        changes: Acceptance,
        caller: Annotated[Caller, Depends(known)],
        user_id: str | None = None,
    ) -> Entry:
        user = any_user_of(services, caller, user_id)
        wanted: dict[str, Any] = changes.model_dump(exclude_none=True)
        if "text" in wanted and (proposal := await proposals.get(user.identity, proposal_key)) is not None:
            wanted["provenance"] = proposal.record.provenance.model_copy(update={"source": SOURCE})
        kept = await proposals.accept(user.identity, proposal_key, changes=wanted)
        if kept is None:
            raise NotFoundError
        return Entry.of(kept, user)

    @router.delete(
        "/{proposal_key}", status_code=204, summary="Refuse a memory that waits", responses=answers(403, 404, 422)
    )
    async def refuse_proposal(
        proposal_key: UUID, caller: Annotated[Caller, Depends(known)], user_id: str | None = None
    ) -> None:
        user = any_user_of(services, caller, user_id)
        if not await proposals.refuse(user.identity, proposal_key):
            raise NotFoundError

    return router
