"""The rules of the port `VectorStore`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from discreet.errors import InvalidUserError, InvalidVectorError
from discreet.ports import VectorStore
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.testing.conformance.rules import expect, someone

VectorStoreCheck = Callable[[VectorStore], Awaitable[None]]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NEARLY = 0.002
"""A cosine may be off by so much: vectors may be stored in half precision."""


async def finds_the_nearest_first(store: VectorStore) -> None:
    """Check the order, the cosines and the limit, and that a vector may be of any length."""
    async with _somebody(store) as user:
        for text, degrees, length in (("far", 90, 1), ("near", 10, 1e-200), ("nearest", 0, 1), ("behind", 180, 1e200)):
            await store.upsert(user, MemoryRecord(text=text), [length * x for x in _at(store, degrees)])
        found = await store.search(user, [1e-9 * x for x in _at(store, 0)], limit=10)
        expect([hit.record.text for hit in found] == ["nearest", "near", "far", "behind"], "The nearest come first.")
        cosines = [math.cos(math.radians(degrees)) for degrees in (0, 10, 90, 180)]
        near = all(abs(hit.score - cosine) < NEARLY for hit, cosine in zip(found, cosines, strict=True))
        expect(near, "The score of a hit is the cosine.")
        best = await store.search(user, _at(store, 0), limit=2)
        expect([hit.record.text for hit in best] == ["nearest", "near"], "At most `limit` are found.")
        expect(await store.search(user, _at(store, 0), limit=0) == [], "Of a limit of 0 nothing is found.")


async def replaces_the_record_of_an_id(store: VectorStore) -> None:
    """Check that an entry_id has one record, also where many write it at once."""
    record = MemoryRecord(text="Keeps a parrot")
    async with _somebody(store) as user:
        await store.upsert(user, record, _at(store, 0))
        stored = await store.upsert(user, record.model_copy(update={"text": "Keeps two parrots"}), _at(store, 90))
        expect(stored.entry_id == record.entry_id, "A record keeps its id.")
        [hit] = await store.search(user, _at(store, 90))
        expect((hit.record.text, round(hit.score, 2)) == ("Keeps two parrots", 1.0), "Text and vector are replaced.")
        await asyncio.gather(*(store.upsert(user, record, _at(store, 10 * n)) for n in range(8)))
        expect(len(await store.search(user, _at(store, 0))) == 1, "Of writers at once one record is left.")


async def makes_one_of_nothing(store: VectorStore) -> None:
    """Check that equal texts and vectors stay records of their own, and that a turn takes the place of a turn."""
    async with _somebody(store) as user:
        for _ in range(2):
            await store.upsert(user, MemoryRecord(text="Keeps two parrots"), _at(store, 0))
        expect(len(await store.search(user, _at(store, 0))) == 2, "Equal records are not merged.")
        for text in ("Hi", "Hello"):
            turn = MemoryRecord(text=text, type="turn", thread_id="t", position=0)
            await store.upsert(user, turn, _at(store, 0))
        turns = await store.search(user, _at(store, 0), filters=MemoryFilters(types=["turn"]))
        expect([hit.record.text for hit in turns] == ["Hello"], "A turn takes the place of the turn at its position.")


async def keeps_people_apart(store: VectorStore) -> None:
    """Check that nobody finds, replaces or deletes what is another's, not even by its id."""
    record = MemoryRecord(text="Ann's")
    async with _somebody(store) as ann, _somebody(store) as bob:
        await store.upsert(ann, record, _at(store, 0))
        expect(await store.search(bob, _at(store, 0)) == [], "Nobody finds the record of another person.")
        expect(not await store.delete(bob, record.entry_id), "Nobody deletes the record of another person.")
        expect(await store.delete_many(bob, MemoryFilters()) == 0, "Filters select among one person's records.")
        await store.upsert(bob, record.model_copy(update={"text": "Bob's"}), _at(store, 0))
        expect([h.record.text for h in await store.search(ann, _at(store, 0))] == ["Ann's"], "An id is one person's.")
    for nobody in ("", "a\nb"):
        await _refuses(InvalidUserError, store.search(nobody, _at(store, 0)), "A user_id that can't be is refused.")


async def filters_what_is_found_and_deleted(store: VectorStore) -> None:
    """Check application, thread, time, type and tags, each for a search and for a deletion."""
    records: dict[str, dict[str, Any]] = {
        "other app": {"app_name": "clinic"},
        "thread": {"thread_id": "t1"},
        "early": {"created_at": NOON - HOUR},
        "at noon": {"created_at": NOON},
        "event": {"type": "event"},
        "tagged": {"tags": ["pets", "birds"]},
    }
    cases: tuple[tuple[MemoryFilters, set[str]], ...] = (
        (MemoryFilters(app_name="clinic"), {"other app"}),
        (MemoryFilters(thread_id="t1"), {"thread"}),
        (MemoryFilters(before=NOON), {"early"}),
        (MemoryFilters(after=NOON, before=NOON + HOUR), {"at noon"}),
        (MemoryFilters(types=["event"]), {"event"}),
        (MemoryFilters(tags=["birds"]), {"tagged"}),
        (MemoryFilters(app_name="clinic", thread_id="t1"), set()),
    )
    async with _somebody(store) as user:
        for text, fields in records.items():
            await store.upsert(user, MemoryRecord(text=text, **fields), _at(store, 0))
        for filters, expected in cases:
            told = f"Filters select by {sorted(filters.model_dump(exclude_none=True))}"
            found = await store.search(user, _at(store, 0), limit=10, filters=filters)
            expect({hit.record.text for hit in found} == expected, f"{told} in a search.")
            expect(await store.delete_many(user, filters) == len(expected), f"{told} in a deletion, which counts.")
            expect(await store.delete_many(user, filters) == 0, "What was deleted is gone.")
        expect(await store.delete_many(user, MemoryFilters()) == 0, "Each record was selected by one of the filters.")


async def finds_what_holds_and_deletes_all(store: VectorStore) -> None:
    """Check that what ended is found as of then only, and goes with the rest."""
    ended = MemoryRecord(text="Lives in Hue", created_at=NOON, valid_to=NOON + HOUR)
    async with _somebody(store) as user:
        await store.upsert(user, ended, _at(store, 0))
        holds = await store.upsert(user, MemoryRecord(text="Lives in Hanoi"), _at(store, 0))
        expect(
            [h.record.text for h in await store.search(user, _at(store, 0))] == [holds.text], "What ended is not found."
        )
        then = await store.search(user, _at(store, 0), filters=MemoryFilters(as_of=NOON))
        expect([hit.record.text for hit in then] == [ended.text], "It is found as of when it held.")
        expect(await store.delete(user, holds.entry_id), "delete returns True for a record that it deleted.")
        expect(not await store.delete(user, holds.entry_id), "delete returns False for one that is gone.")
        expect(await store.delete_many(user, MemoryFilters()) == 1, "delete_many takes what ended too.")


async def refuses_what_is_no_vector_of_its(store: VectorStore) -> None:
    """Check length, NaN, infinity and zeros, given to be stored or searched for."""
    good = _at(store, 0)
    odd: dict[str, Sequence[float]] = {
        "a number less": good[:-1],
        "a number more": [*good, 0.0],
        "no numbers": [],
        "NaN": [*good[:-1], math.nan],
        "infinity": [*good[:-1], -math.inf],
        "zeros alone": [0.0] * store.dims,
    }
    async with _somebody(store) as user:
        for told, vector in odd.items():
            rule = f"A vector of {told} is refused by InvalidVectorError"
            await _refuses(InvalidVectorError, store.upsert(user, MemoryRecord(text="x"), vector), f"{rule} in upsert.")
            await _refuses(InvalidVectorError, store.search(user, vector), f"{rule} in search.")
        expect(await store.delete_many(user, MemoryFilters()) == 0, "Of what was refused nothing is stored.")


async def redacts_texts(store: VectorStore) -> None:
    """Check that a text has passed the redactor where it is stored, and a record is else as it was given."""
    record = MemoryRecord(text="Write to ann@example.com", tags=["mail"], thread_id="t", importance=7, created_at=NOON)
    async with _somebody(store) as user:
        stored = await store.upsert(user, record, _at(store, 0))
        expect(stored == record.model_copy(update={"text": stored.text}), "All but the text is stored as it was given.")
        expect("ann@example.com" not in stored.text, "A text is redacted before it is stored.")
        [hit] = await store.search(user, _at(store, 0))
        expect(hit.record == stored, "What is found is what upsert returned.")


VECTOR_STORE_CHECKS: Final[tuple[VectorStoreCheck, ...]] = (
    finds_the_nearest_first,
    replaces_the_record_of_an_id,
    makes_one_of_nothing,
    keeps_people_apart,
    filters_what_is_found_and_deleted,
    finds_what_holds_and_deletes_all,
    refuses_what_is_no_vector_of_its,
    redacts_texts,
)
"""One for each rule."""


async def check_vector_store(store: VectorStore) -> None:
    """Run all checks.

    Example:
        >>> from discreet.testing import InMemoryVectorStore
        >>> asyncio.run(check_vector_store(InMemoryVectorStore(8)))

    Raises:
        ConformanceError: A rule is broken.
    """
    for check in VECTOR_STORE_CHECKS:
        await check(store)


@asynccontextmanager
async def _somebody(store: VectorStore) -> AsyncIterator[str]:
    """Yield a user_id of whom nothing is stored, and delete what is in the end."""
    user = someone()
    try:
        yield user
    finally:
        await store.delete_many(user, MemoryFilters())


def _at(store: VectorStore, degrees: float) -> list[float]:
    """Return the unit vector at an angle to that of 0 degrees."""
    angle = math.radians(degrees)
    return [math.cos(angle), math.sin(angle), *([0.0] * (store.dims - 2))]


async def _refuses(error: type[Exception], call: Awaitable[object], rule: str) -> None:
    try:
        await call
    except error:
        return
    expect(False, rule)
