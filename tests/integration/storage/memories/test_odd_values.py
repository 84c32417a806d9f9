"""Records with odd values are stored or refused with a typed error, and never cost their user a later save."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import psycopg
import pytest

from discreet.errors import DiscreetError, InvalidRecordError, ProviderError
from discreet.ports import ForgetRequest
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

YEAR_1 = datetime(1, 1, 1, tzinfo=UTC)
YEAR_9999 = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
ODD = {
    "year 1": {"created_at": YEAR_1},
    "year 1 east of here": {"created_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))},
    "year 9999": {"created_at": YEAR_9999},
    "year 9999 west of here": {"created_at": YEAR_9999.replace(tzinfo=timezone(timedelta(hours=-12)))},
    "valid for ever": {"valid_from": YEAR_1, "valid_to": YEAR_9999},
    "over long ago": {"valid_to": YEAR_1},
    "position of 2**63": {"thread_id": "t", "position": 2**63},
    "position of 2**63 - 1": {"thread_id": "t", "position": 2**63 - 1},
    "turn at 2**63 - 1": {"type": "turn", "thread_id": "t", "position": 2**63 - 1},
    "position of 2**62": {"thread_id": "t", "position": 2**62},
    "NUL in the text": {"text": "a\0b"},
    "NUL in an id": {"request_id": "a\0b", "agent_id": "a\0b", "thread_id": "a\0b"},
    "NUL in a tag": {"tags": ["a\0b"]},
    "NUL in feedback": {"feedback": [{"comment": "a\0b", "a\0": 1}]},
    "NaN in feedback": {"feedback": [{"rating": float("nan")}]},
    "infinity in feedback": {"feedback": [{"rating": float("-inf")}]},
    "lone surrogate in feedback": {"feedback": [{"comment": "\ud800"}]},
    "a date in feedback": {"feedback": [{"at": YEAR_1}]},
    "NaN as confidence": {"confidence": float("nan")},
    "infinite confidence": {"confidence": float("inf")},
}


@pytest.fixture
async def storage(database):
    settings = Settings(reembed=False, max_memories_per_user=3)
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=settings) as opened:
        yield opened


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("values", ODD.values(), ids=ODD)
async def test_a_user_is_not_poisoned_by_it(storage, values):
    memories = storage.memories
    odd = None
    with suppress(DiscreetError):
        [odd] = await memories.save("ann", [MemoryRecord(**{"text": "Keeps parrots", **values})])
    for number in range(6):  # above the limit, so that the least useful are looked for
        await memories.save("ann", [MemoryRecord(text=f"Unlike number{number * 7919}")])
    assert await memories.search("ann", "parrots number7919")
    listed = await memories.latest("ann", held=False)
    assert listed
    if odd is not None:
        assert await memories.delete("ann", odd.entry_id) in (True, False)  # it may have been evicted


async def test_times_at_the_ends_come_back_as_they_were_in_any_time_zone(database):
    with psycopg.connect(database, autocommit=True) as connection:
        name = connection.execute("SELECT current_database()").fetchone()[0]
        connection.execute(f"ALTER DATABASE {name} SET timezone = 'America/Los_Angeles'")
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        for at in (YEAR_1, YEAR_9999):
            [saved] = await storage.memories.save("ann", [MemoryRecord(text=f"Said in {at.year}", created_at=at)])
            assert (await storage.memories.get("ann", saved.entry_id)).created_at == at


class Broken(StubEmbeddings):
    """A model whose vectors are not what it announced."""

    vector: list[float]

    async def aembed_documents(self, texts):
        return [self.vector for _ in texts]

    async def aembed_query(self, text):
        return self.vector


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("vector", "told"),
    [
        ([float("nan")] * 64, "not finite"),
        ([1e300] * 64, "not finite"),
        ([0.125] * 63, "vector of 63 dims; 64 were announced"),
        ([], "vector of 0 dims"),
    ],
    ids=["NaN", "too large", "too short", "empty"],
)
async def test_a_vector_that_is_none_is_the_models_error(database, vector, told):
    model = Broken(dims=64)
    model.vector = vector
    async with open_storage(database, embeddings=model) as storage:
        with pytest.raises(ProviderError, match=told):
            await storage.memories.save("ann", [MemoryRecord(text="Keeps two parrots")])
        assert await storage.memories.latest("ann") == []
        with pytest.raises(ProviderError, match=told):
            await storage.memories.search("ann", "parrots")
        with pytest.raises(ProviderError, match=told):
            await storage.store.aput(("notes",), "1", {"text": "Keeps two parrots"})
        assert await storage.store.aget(("notes",), "1") is None


async def test_feedback_that_is_no_json_is_refused(storage):
    [saved] = await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    for odd in (YEAR_1, {1}, float("nan"), saved.entry_id):
        with pytest.raises(InvalidRecordError, match="must be JSON"):
            await storage.memories.add_feedback("ann", saved.entry_id, {"comment": odd})
        with pytest.raises(InvalidRecordError, match="must be JSON"):
            MemoryRecord(text="Keeps parrots", feedback=[{"comment": odd}])
    assert await storage.memories.get("ann", saved.entry_id) == saved


async def test_what_is_asked_to_be_forgotten_may_have_any_id_and_any_number(storage):
    asking = ForgetRequest(thread_id="\ud800", request_id="\ud800")
    assert await storage.memories.forget("ann", f"My number is {'²' * 5_000}", asking=asking) is not None
    assert await storage.memories.forgotten("ann", "\ud800") == {"\ufffd"}
