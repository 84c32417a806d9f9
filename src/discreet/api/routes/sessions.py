"""End a session."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from discreet.access import Caller
from discreet.api.dependencies import make_dependencies
from discreet.api.errors import answers
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import user_of
from discreet.api.values import Id


def make_sessions_router(services: Services) -> APIRouter:
    """Return the route."""
    router = make_router(services, prefix="/memory", tags=["memory"])
    known = make_dependencies(services).caller

    @router.post(
        "/session/{session_id}/end",
        status_code=204,
        summary="End a session",
        description="What is kept for a session's time goes: its state and its last rounds. Entries stay, and what was said "
        "is worked on as soon as the settings say. A session that is over, or never was, may be ended again.",
        responses=answers(403, 422),
    )
    async def end_session(
        session_id: Annotated[Id, Path()], caller: Annotated[Caller, Depends(known)], user_id: str | None = None
    ) -> None:
        user = user_of(services, caller, user_id)
        await services.log.end_session(user.identity, session_id)
        await services.short_term.forget(user.identity, session_id)

    return router
