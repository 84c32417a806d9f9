"""Say what one thinks of an entry."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from discreet.access import Caller
from discreet.api.dependencies import make_dependencies
from discreet.api.entries import Entry, FeedbackItem
from discreet.api.errors import answers
from discreet.api.idempotency import Call, Idempotency, IdempotencyKey
from discreet.api.routes.entries import REPLAYED
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import user_of
from discreet.api.values import UserName
from discreet.errors import NotFoundError
from discreet.state.records import MemoryRecord


class Feedback(FeedbackItem):
    """What somebody thinks of an entry: a rating, a comment, or both."""

    entry_id: UUID
    """The entry."""
    user_id: UserName | None = None
    """Whose entry it is: yours, if you leave it out."""

    @model_validator(mode="after")
    def _says_something(self) -> "Feedback":
        if self.rating is None and not (self.comment and self.comment.strip()):
            raise PydanticCustomError("no_feedback", "nothing said")
        return self


def make_feedback_router(services: Services) -> APIRouter:
    """Return the route."""
    router = make_router(services, prefix="/memory", tags=["memory"])
    known = make_dependencies(services).caller
    idempotency = Idempotency(services)

    @router.post(
        "/feedback",
        summary="Add feedback to an entry",
        responses={
            200: {"description": "The entry with it.", "headers": {"Idempotency-Replayed": REPLAYED}},
            **answers(400, 403, 404, 409, 413, 415, 422),
        },
    )
    async def add_feedback(
        feedback: Feedback,
        response: Response,
        caller: Annotated[Caller, Depends(known)],
        idempotency_key: IdempotencyKey = None,
    ) -> Entry:
        user = user_of(services, caller, feedback.user_id)

        async def append(_entry_id: UUID | None) -> MemoryRecord:
            record = await services.memories.add_feedback(user.identity, feedback.entry_id, feedback.stored())
            if record is None:
                raise NotFoundError
            return record

        call = Call(caller=caller, user=user, route="feedback", key=idempotency_key, body=feedback)
        outcome = await idempotency.once(call, append)
        if outcome.replayed:
            response.headers["Idempotency-Replayed"] = "true"
        return Entry.of(outcome.record, user)

    return router
