"""Search entries by meaning and by words."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, Strict

from discreet.access import Caller
from discreet.api.entries import Entry
from discreet.api.errors import answers
from discreet.api.filters import EntryFilters
from discreet.api.ids import check_filters
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import read_user_of
from discreet.api.values import UserName, Words
from discreet.state.described import describe_fields

MAX_FOUND = 50


class Question(BaseModel):
    """A search."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_fields)

    q: Annotated[Words, Field(max_length=20_000)]
    """What to look for; of a long text, its beginning. A blank one finds nothing."""
    user_id: UserName | None = None
    """Whose entries: yours, if you leave it out."""
    limit: Annotated[int, Strict(), Field(ge=1, le=MAX_FOUND)] | None = None
    """Entries at most; as the settings say, if you leave it out."""
    threshold: Annotated[float, Strict(), Field(ge=0, le=1)] | None = None
    """Least similarity of an entry that shares no word with `q`; as the settings say, if you leave it out."""
    filters: EntryFilters = EntryFilters()
    """Which entries."""


class Hit(BaseModel):
    """An entry that was found."""

    model_config = ConfigDict(json_schema_extra=describe_fields)

    entry: Entry
    score: float
    """Higher is nearer; comparable within one answer."""
    similarity: float
    """Of meaning, 0 to 1; comparable between answers while the embedding model stays."""


class Hits(BaseModel):
    """What a search found."""

    results: list[Hit]


def make_searching_router(services: Services) -> APIRouter:
    """Return the route."""
    router = make_router(services, prefix="/memory", tags=["memory"])
    known = router.caller

    @router.post("/search", summary="Search entries", responses=answers(400, 403, 413, 415, 422))
    async def search_entries(question: Question, caller: Annotated[Caller, Depends(known)]) -> Hits:
        user = await read_user_of(services, caller, question.user_id)
        live, filters = services.memory_settings.live, question.filters.stored()
        await check_filters(filters, within="filters.")
        found = await services.memories.search(
            user.identity,
            question.q,
            limit=live.memory_retrieve_limit if question.limit is None else question.limit,
            threshold=live.memory_retrieve_threshold if question.threshold is None else question.threshold,
            filters=filters,
        )
        hits = [Hit(entry=Entry.of(hit.record, user), score=hit.score, similarity=hit.similarity) for hit in found]
        return Hits(results=hits)

    return router
