"""List entries, newest first, page by page."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.access import Caller
from discreet.api.entries import Entry
from discreet.api.errors import answers
from discreet.api.ids import check_filters
from discreet.api.paging import LINKED, Paging, follow
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import read_user_of
from discreet.api.values import Id, Label, Moment
from discreet.state.described import describe_fields
from discreet.state.records import MemoryFilters, MemoryType


class Page(BaseModel):
    """Entries, newest first."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    entries: list[Entry]
    """At most `limit`. Superseded ones too: it is a history."""
    next: str | None
    """What to send as `cursor` for the page after this one; null: there is none. The Link header has its address."""


class Selection(Paging):
    """Which entries; every filter given must hold."""

    session_id: Id | None = None
    user_id: str | None = None
    agent_id: Id | None = None
    request_id: Id | None = None
    after: Annotated[Moment | None, Field(description="Written at or after this time.")] = None
    before: Annotated[Moment | None, Field(description="Written before this time.")] = None
    tags: Annotated[list[Label], Field(default_factory=list, max_length=50, description="That carry all these tags.")]
    type: Annotated[list[MemoryType], Field(default_factory=list, max_length=10, description="Of any of these types.")]
    app_name: Id = "default"

    def filters(self) -> MemoryFilters:
        """Return them as the storage has them."""
        return MemoryFilters(
            app_name=self.app_name,
            thread_id=self.session_id,
            agent_id=self.agent_id,
            request_id=self.request_id,
            types=self.type or None,
            tags=self.tags or None,
            after=self.after,
            before=self.before,
        )


def make_listing_router(services: Services) -> APIRouter:
    """Return the route."""
    router = make_router(services, prefix="/memory", tags=["memory"])
    known = router.caller

    @router.get("/query", summary="List entries, newest first", responses={**LINKED, **answers(400, 403, 422)})
    async def query(
        selection: Annotated[Selection, Query()],
        request: Request,
        response: Response,
        caller: Annotated[Caller, Depends(known)],
    ) -> Page:
        user = await read_user_of(services, caller, selection.user_id)
        filters = selection.filters()
        await check_filters(filters, services.redactor)
        found = await services.memories.latest(
            user.identity,
            limit=selection.limit + 1,
            filters=filters,
            older_than=selection.mark,
            held=False,
        )
        records, more = found[: selection.limit], found[selection.limit :]
        following = follow(request, response, (records[-1].created_at, records[-1].entry_id) if more else None)
        return Page(entries=[Entry.of(record, user) for record in records], next=following)

    return router
