"""List entries, newest first, page by page."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.access import Caller
from discreet.api.entries import Entry
from discreet.api.errors import answers
from discreet.api.filters import EntryFilters
from discreet.api.ids import check_filters
from discreet.api.paging import LINKED, Paging, follow
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import read_user_of
from discreet.state.described import describe_fields


class Page(BaseModel):
    """Entries, newest first."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    entries: list[Entry]
    """At most `limit`. Superseded ones too: it is a history."""
    next: str | None
    """What to send as `cursor` for the page after this one; null: there is none. The Link header has its address."""


class Selection(EntryFilters, Paging):
    """Which entries of whom, and which page of them."""

    user_id: Annotated[str | None, Field(description="Whose entries: yours, if you leave it out.")] = None


def make_listing_router(services: Services) -> APIRouter:
    """Return the route."""
    router = make_router(services, prefix="/memory", tags=["memory"])
    known = router.caller

    @router.get("/query", summary="List entries, newest first", responses={**LINKED, **answers(400, 403, 422)})
    async def list_entries(
        selection: Annotated[Selection, Query()],
        request: Request,
        response: Response,
        caller: Annotated[Caller, Depends(known)],
    ) -> Page:
        user = await read_user_of(services, caller, selection.user_id)
        filters = selection.stored()
        await check_filters(filters)
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
