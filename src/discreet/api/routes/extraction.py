"""Have one's conversations worked on now, without waiting for a trigger."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Strict

from discreet.access import Caller
from discreet.api.dependencies import make_dependencies
from discreet.api.errors import answers
from discreet.api.routes.jobs import Made
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import any_user_of
from discreet.api.values import Moment, UserName
from discreet.errors import ForbiddenError
from discreet.state.described import describe_fields
from discreet.worker.starting import start


class Start(BaseModel):
    """What is to be worked on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_fields)

    user_id: UserName | None = None
    """Whose conversations: yours, if you leave it out. An administrator may name anybody."""
    after: Moment | None = None
    """Turns from this time on; all, if you leave it out."""
    again: Annotated[bool, Strict()] = False
    """Those too that were worked on before. For administrators."""


def make_extraction_router(services: Services) -> APIRouter:
    """Return the route; none if nothing is made of conversations."""
    router = make_router(services, prefix="/memory/extraction", tags=["extraction"])
    known = make_dependencies(services).caller
    background = services.background
    if background is None:
        return router

    @router.post(
        "/start",
        status_code=202,
        summary="Extract facts from conversations now",
        description="Makes prompts of the turns that were not worked on. A worker hands them in.",
        responses=answers(400, 403, 413, 415, 422),
    )
    async def start_extraction(wanted: Start, caller: Annotated[Caller, Depends(known)]) -> Made:
        user = any_user_of(services, caller, wanted.user_id)
        if wanted.again and not caller.admin:  # every call would be paid anew
            raise ForbiddenError("Only administrators may have turns worked on again.")
        made = await start(
            background,
            background.key_of(user.identity),
            services.memory_settings.live,
            after=wanted.after,
            again=wanted.again,
        )
        return Made(requests=made)

    return router
