"""What leaves an entry, of whom, and that nothing is stored without it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import psycopg
import pytest
from testkit.proposals import plant_proposal

from discreet.access.actor import Actor, acting
from discreet.access.user_keys import load_user_keys
from discreet.errors import StorageError
from discreet.settings import Settings, load_settings
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord
from discreet.storage import open_storage
from discreet.storage.audit.verifying import verify
from discreet.testing import StubEmbeddings

NOW = datetime.now(UTC)
SAID = """
SELECT user_key, actor_kind, actor, action, data, counts, success, request_id FROM discreet.audit_entry ORDER BY at, number
"""
CARER = Actor(kind="user", identity="carer", request_id="r-7")


def key_of(user: str):
    return load_user_keys(load_settings()).of_user(user)


async def entries(storage, user: str | None = None) -> list[tuple[str, str, dict]]:
    async with storage.works_pool.connection() as conn:
        rows = await (await conn.execute(SAID)).fetchall()
    whose = {key_of(user)} if user is not None else {row["user_key"] for row in rows}
    return [(row["actor_kind"], row["action"], row["counts"]) for row in rows if row["user_key"] in whose]


def turn(user: str | None = "ann", request_id: str = "1", thread_id: str = "t") -> TurnRecord:
    return TurnRecord(
        request_id=request_id,
        user_id=user,
        thread_id=thread_id,
        input_text="hello",
        output_text="hi",
        started_at=NOW,
        ended_at=NOW,
    )


@asynccontextmanager
async def broken_trail(database):
    """Have no entry written inside the block."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER TABLE discreet.audit_entry RENAME TO audit_entry_away")
        try:
            yield
        finally:
            connection.execute("ALTER TABLE discreet.audit_entry_away RENAME TO audit_entry")


async def test_what_is_written_and_deleted_of_memories_leaves_an_entry(storage):
    memories = storage.memories
    [parrot, _] = await memories.save("ann", [MemoryRecord(text="Keeps parrots"), MemoryRecord(text="Plays the oboe")])
    await memories.add_feedback("ann", parrot.entry_id, {"rating": 1})
    await memories.delete("ann", parrot.entry_id)
    assert not await memories.delete("ann", parrot.entry_id)
    await memories.forget("ann", "oboe")
    await memories.delete_many("ann", MemoryFilters())
    assert await entries(storage, "ann") == [
        ("user", "memory.write", {"memories": 2}),
        ("user", "memory.write", {"feedback": 1}),
        ("user", "memory.delete", {"memories": 1}),
        ("user", "memory.forget", {"memories": 0, "rounds": 0}),
        ("user", "memory.delete", {"memories": 1}),
    ]


async def test_a_turn_of_the_log_leaves_an_entry(storage):
    await storage.log.append(turn())
    await storage.log.append(turn())  # in its own place
    await storage.log.append(turn(thread_id="other"))  # which is refused: it is in a thread
    await storage.log.append(turn(user=None, thread_id="nobody"))
    assert await entries(storage, "ann") == [("user", "log.write", {"turns": 1})] * 2
    assert len(await entries(storage)) == 3


async def test_items_of_the_store_leave_an_entry_for_each_who_asks(storage):
    async def put(user: str, key: str) -> None:
        with acting(Actor(kind="user", identity=user)):
            await storage.store.aput(("users", "ann"), key, {"text": "a parrot"})

    await asyncio.gather(put("ann", "1"), put("ann", "2"), put("carer", "3"))  # which are one transaction
    await storage.store.adelete(("users", "ann"), "1")
    await storage.store.aput(("notes",), "1", {"text": "a parrot"})
    found = await entries(storage, "ann")
    assert sorted(count["items"] for _, action, count in found if action == "store.write") == [1, 2]
    assert found[-1] == ("user", "store.delete", {"items": 1})
    assert len(await entries(storage)) == 4


async def test_changed_settings_leave_an_entry_with_nobodys(storage):
    with acting(Actor(kind="operator", identity="root")):
        await storage.memory_settings.change({"memory_retrieve_limit": 7}, by="cli:root")
        await storage.memory_settings.change({"memory_retrieve_limit": 7}, by="cli:root")  # as it is
    assert await entries(storage) == [("operator", "setting.change", {"settings": 1})]


@pytest.mark.dialect
async def test_reading_by_somebody_else_leaves_an_entry(storage):
    [record] = await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    await storage.log.append(turn())

    async def read() -> None:
        assert await storage.memories.search("ann", "parrots")
        assert await storage.memories.get("ann", record.entry_id)
        assert await storage.memories.latest("ann")
        assert await storage.vectors.search("ann", [1.0] + [0.0] * 255) is not None
        assert await storage.log.read("ann")

    await read()
    with acting(Actor(kind="admin", identity="ann")):
        await read()
    assert len(await entries(storage, "ann")) == 2
    with acting(CARER):
        await read()
    told = (await entries(storage, "ann"))[2:]
    assert [action for _, action, _ in told] == ["memory.read"] * 4 + ["log.read"]
    assert told[-1] == ("user", "log.read", {"turns": 1})


async def test_nothing_is_stored_that_the_trail_does_not_know_of(storage, database):
    [kept] = await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    writes = (
        lambda: storage.memories.save("ann", [MemoryRecord(text="Plays the oboe")]),
        lambda: storage.memories.delete("ann", kept.entry_id),
        lambda: storage.log.append(turn()),
        lambda: storage.store.aput(("notes",), "1", {"text": "a parrot"}),
        lambda: storage.memory_settings.change({"memory_retrieve_limit": 7}, by="ann"),
    )
    async with broken_trail(database):
        for write in writes:
            with pytest.raises(StorageError):
                await write()
    assert [record.text for record in await storage.memories.latest("ann")] == ["Keeps parrots"]
    assert not await storage.log.read("ann")
    assert await storage.store.aget(("notes",), "1") is None
    assert not await storage.memory_settings.history()


@pytest.mark.slow
async def test_nothing_is_read_by_others_that_the_trail_does_not_know_of(storage, database):
    [record] = await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    reads = (
        lambda: storage.memories.search("ann", "parrots"),
        lambda: storage.memories.get("ann", record.entry_id),
        lambda: storage.memories.latest("ann"),
        lambda: storage.log.read("ann"),
    )
    async with broken_trail(database):
        for read in reads:
            await read()  # one's own
            with acting(CARER), pytest.raises(StorageError):
                await read()


async def test_what_becomes_of_a_proposal_leaves_an_entry(storage, database):
    proposals, ann = storage.background.proposals, key_of("ann")
    accepted, refused = (plant_proposal(database, ann) for _ in range(2))
    assert len(await proposals.waiting("ann")) == 2
    with acting(Actor(kind="admin", identity="root")):
        assert len(await proposals.waiting()) == 2
        assert await proposals.get("ann", refused)
        assert await proposals.accept("ann", accepted)
        assert await proposals.refuse("ann", refused)
        assert not await proposals.refuse("ann", refused)
    assert await entries(storage, "ann") == [
        ("admin", "proposal.read", {"proposals": 2}),
        ("admin", "proposal.read", {"proposals": 1}),
        ("admin", "proposal.accept", {"proposals": 1}),
        ("admin", "memory.write", {"memories": 1}),
        ("admin", "proposal.refuse", {"proposals": 1}),
    ]


async def test_all_of_it_can_be_verified(storage):
    for n in range(3):
        await storage.memories.save("ann", [MemoryRecord(text=f"Fact {n} of parrots")])
        await storage.log.append(turn(request_id=str(n)))
    key = load_user_keys(load_settings()).audit_key
    report = await verify(storage.works_pool, key=key)
    assert (report.findings, report.entries) == ([], 6)


@pytest.mark.dialect
async def test_without_the_setting_there_is_no_trail(database):
    settings = Settings(audit=False)
    async with open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=64)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
        await storage.log.append(turn())
        with acting(CARER):
            assert await storage.log.read("ann")
        assert not await entries(storage)
