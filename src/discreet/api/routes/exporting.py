"""Hand out everything that is kept of a user, as one stream."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from discreet.access import Caller
from discreet.api.dependencies import make_dependencies
from discreet.api.errors import answers
from discreet.api.exporting import LINES, export_answer
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import any_user_of


def make_exporting_router(services: Services) -> APIRouter:
    """Return the route; none if there is nothing to export from."""
    router = make_router(services, prefix="/memory", tags=["rights"])
    known = make_dependencies(services).caller
    if services.storage is None:
        return router

    @router.get(
        "/export",
        summary="Export everything that is kept of a user",
        description="Lines of JSON, `{kind, data}`: a header, the records with a mark after each page, and the manifest with "
        "checksums at the end. A stream without a manifest was broken off, and another goes on `after` its last mark. "
        "One's own; an administrator may name anybody.",
        response_class=StreamingResponse,
        responses={200: {"content": {LINES: {}}, "description": "The stream."}, **answers(403, 422)},
    )
    async def export_memory(
        caller: Annotated[Caller, Depends(known)],
        user_id: str | None = None,
        after: Annotated[str | None, Query(max_length=10_000, description="`after` of the last mark.")] = None,
        vectors: Annotated[bool, Query(description="Whether memories come with their vectors.")] = False,
    ) -> StreamingResponse:
        user = any_user_of(services, caller, user_id)
        return await export_answer(services, user.identity, after=after, vectors=vectors)

    return router
