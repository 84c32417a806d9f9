"""Store, read and delete one entry."""

# Annotations are evaluated here: FastAPI would look for what they name among the module's names.

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from discreet.access import Caller
from discreet.api.entries import Entry, NewEntry
from discreet.api.errors import answers
from discreet.api.idempotency import Call, Idempotency, IdempotencyKey
from discreet.api.routing import make_router
from discreet.api.services import Services
from discreet.api.users import read_user_of, user_of
from discreet.errors import NotFoundError
from discreet.redaction.beside import beside_loop
from discreet.state.records import MemoryRecord

REPLAYED = {
    "description": "`true` if the answer is that of an earlier call with this Idempotency-Key.",
    "schema": {"type": "string"},
}


def make_entries_router(services: Services) -> APIRouter:
    """Return the routes."""
    router = make_router(services, prefix="/memory", tags=["memory"])
    known = router.caller
    idempotency = Idempotency(services)

    @router.post(
        "/store",
        status_code=201,
        summary="Store an entry",
        responses={
            201: {
                "description": "The entry as it is stored: redacted. An entry that names its type and no id may come back as the "
                "one that was known already.",
                "headers": {"Location": {"schema": {"type": "string"}}, "Idempotency-Replayed": REPLAYED},
            },
            **answers(400, 403, 404, 409, 413, 415, 422),
        },
    )
    async def store_entry(
        entry: NewEntry,
        response: Response,
        caller: Annotated[Caller, Depends(known)],
        idempotency_key: IdempotencyKey = None,
    ) -> Entry:
        user = user_of(services, caller, entry.user_id)

        async def save(entry_id: UUID | None) -> MemoryRecord:
            record = await beside_loop(entry.chars, partial(entry.record, services.redactor, entry_id))
            [stored] = await services.memories.save(user.identity, [record], dedup=entry.dedup)
            return stored

        call = Call(caller=caller, user=user, route="store", key=idempotency_key, body=entry)
        outcome = await idempotency.once(call, save)
        if outcome.replayed:
            response.headers["Idempotency-Replayed"] = "true"
        response.headers["Location"] = f"/memory/entry/{outcome.record.entry_id}"
        return Entry.of(outcome.record, user)

    @router.get("/entry/{entry_id}", summary="Read an entry", responses=answers(403, 404, 422))
    async def read_entry(
        entry_id: UUID, caller: Annotated[Caller, Depends(known)], user_id: str | None = None
    ) -> Entry:
        user = await read_user_of(services, caller, user_id)
        record = await services.memories.get(user.identity, entry_id)
        if record is None:
            raise NotFoundError
        return Entry.of(record, user)

    @router.delete("/entry/{entry_id}", status_code=204, summary="Delete an entry", responses=answers(403, 404, 422))
    async def delete_entry(
        entry_id: UUID, caller: Annotated[Caller, Depends(known)], user_id: str | None = None
    ) -> None:
        user = user_of(services, caller, user_id)
        if not await services.memories.delete(user.identity, entry_id):
            raise NotFoundError

    return router
