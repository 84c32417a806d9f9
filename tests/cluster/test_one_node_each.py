"""Every statement about a user or a turn runs on one shard. One over several is an error here, by a setting of Citus."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from discreet.encryption import Keyring, make_key
from discreet.errors import StorageError
from discreet.ports import RollingSummary, Round, Started, Work
from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.vault.postgres_vault import PostgresTurnVault
from discreet.testing import InMemoryKeys, StubEmbeddings

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def without_jobs(**values):
    return Settings(reembed=False, **values)


@pytest.fixture(params=[256, 1024], ids=["narrow", "wide"])
async def storage(one_shard_only, request):
    """Return a storage whose statements over several shards fail, with narrow and with wide vectors."""
    opened = open_storage(one_shard_only, embeddings=StubEmbeddings(dims=request.param), settings=without_jobs())
    async with opened as storage:
        yield storage


def turn(position, text):
    return MemoryRecord(text=text, type="turn", thread_id="t", position=position)


def said(user_id, request_id="r"):
    return TurnRecord(
        request_id=request_id, user_id=user_id, thread_id="t", input_text="parrots", output_text="yes",
        started_at=NOW, ended_at=NOW,
    )  # fmt: skip


async def test_the_setting_refuses_what_reads_all_shards(storage):
    with pytest.raises(StorageError):
        await storage.store.alist_namespaces()


async def test_memories_are_saved_consolidated_and_replaced(storage):
    memories = storage.memories
    await memories.save("ann", [MemoryRecord(text="Keeps parrots"), MemoryRecord(text="Likes tea")])
    await memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    await memories.save("ann", [MemoryRecord(text=f"Fact number {n} of many") for n in range(20)])
    await memories.save("ann", [turn(n, f"said {n} parrots") for n in range(5)])
    await memories.save("ann", [turn(2, "said again")])
    assert {record.text for record in await memories.latest("ann")} >= {"Keeps parrots", "said again"}


async def test_memories_are_searched_listed_and_rated(storage):
    memories = storage.memories
    await memories.save("ann", [MemoryRecord(text="Keeps parrots"), turn(1, "Do parrots talk?")])
    assert len(await memories.search("ann", "parrots")) == 2
    filters = MemoryFilters(app_name="default", types=["user_fact"], running_thread="x")
    [fact] = await memories.search("ann", "parrots", filters=filters, few=12)
    entry_id = fact.record.entry_id
    assert await memories.get("ann", entry_id) == fact.record
    assert len(await memories.latest("ann")) == 2
    await memories.latest("ann", older_than=entry_id)
    assert await memories.add_feedback("ann", entry_id, {"rating": 1})
    await memories._usage.flush()


async def test_memories_are_deleted_forgotten_and_evicted(storage, one_shard_only):
    memories = storage.memories
    facts = await memories.save("ann", [MemoryRecord(text=f"Keeps {n} parrots", type="event") for n in range(4)])
    await storage.log.append(said("ann"))
    assert await memories.forget("ann", facts[0].entry_id)
    assert await memories.forgotten("ann", "t") == {"r"}
    assert await memories.delete("ann", facts[1].entry_id)
    assert not await memories.delete("ann", uuid4())
    assert await memories.delete_many("ann", MemoryFilters(types=["event"])) == 2
    few = without_jobs(max_memories_per_user=10)
    async with open_storage(one_shard_only, embeddings=memories._embeddings, settings=few) as crowded:
        for n in range(12):
            await crowded.memories.save("ann", [MemoryRecord(text=f"event {n}", type="event")])
        assert len(await crowded.memories.latest("ann")) <= 10


async def test_the_log_and_summaries_are_kept(storage):
    assert await storage.log.append(said("ann"))
    assert not await storage.log.append(said("ann"))
    assert await storage.log.append(said(None))
    nothing, first = RollingSummary(), RollingSummary(text="x", rounds=3, last_message_id="m")
    assert await storage.summaries.get("ann", "t") in (None, nothing)
    assert await storage.summaries.commit("ann", "t", expected=nothing, new=first)
    second = RollingSummary(text="y", rounds=9, last_message_id="n")
    assert await storage.summaries.commit("ann", "t", expected=first, new=second)
    assert await storage.summaries.get("ann", "t") == second
    assert await storage.summaries.forget("ann", "t")


async def test_sessions_rounds_and_claims_are_kept(storage):
    short_term = storage.short_term
    spoken = Round(request_id="q", input_text="a", output_text="b", said_at=NOW, is_emergency=False)
    await short_term.touch("ann", "t")
    assert await short_term.append_round("ann", "t", spoken)
    assert await short_term.session_state("ann", "t") == "ACTIVE"
    assert len(await short_term.recent_rounds("ann", "t")) == 1
    work = Work(kind="request", user_id="ann", ref="w")
    claimed = await short_term.claim(work, lease=30)
    assert isinstance(claimed, Started)
    assert await short_term.finish(work, claimed.token, "answer")
    await short_term.claim(work, lease=30)
    await short_term.forget("ann", "t")
    await short_term.forget("ann")


async def test_items_of_a_namespace_are_kept_and_searched(storage):
    store, place = storage.store, ("notes", "ann")
    await store.aput(place, "1", {"text": "two parrots"})
    await store.aput(place, "2", {"text": "tea"}, ttl=5)
    assert (await store.aget(place, "1")).value == {"text": "two parrots"}
    assert (await store.asearch(place, query="parrots"))[0].key == "1"
    assert (await store.asearch(place, query="parrots", filter={"text": "tea"}))[0].key == "2"
    assert len(await store.asearch(place)) == 2
    await store.adelete(place, "1")
    await store.adelete(place, "2")


async def test_turns_of_the_vault_are_held(one_shard_only):
    async with make_pool(one_shard_only, max_size=2) as pool:
        vault = PostgresTurnVault(pool, keys=InMemoryKeys())
        await vault.ahold("1", {"<mail-1>": "ann"})
        await vault.ahold("1", {"<mail-2>": "eve"})
        assert await vault.avalues("1") == {"<mail-1>": "ann", "<mail-2>": "eve"}
        await vault.adrop("1")
        assert await vault.avalues("1") == {}


async def test_sealed_memories_are_too(one_shard_only):
    keys = Keyring([make_key()])
    opened = open_storage(one_shard_only, embeddings=StubEmbeddings(dims=64), settings=without_jobs(), keys=keys)
    async with opened as storage:
        [fact] = await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots", entry_id=UUID(int=7))])
        assert await storage.memories.get("ann", fact.entry_id) == fact
