"""What background memory leaves in the database: redacted, and sealed where there is a key."""

from __future__ import annotations

import psycopg
import pytest
from kit.search import in_rows
from testkit.conversations import ScriptedProvider, item, talk

from discreet.ports import FixedSettings
from discreet.redaction import Redactor
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryFilters
from discreet.storage import open_storage
from discreet.testing import InMemoryKeys, StubEmbeddings
from discreet.worker import BatchProviders, Worker

pytestmark = pytest.mark.slow

MAIL = "minh" + "@" + "example.com"
SAID = ("I keep two zanzibari parrots.", f"My cousin writes from {MAIL}.", "I work nights at a bakery.")


def answer(request):
    if request.schema_name == "session_summary":
        return {"summary": f"Of zanzibari parrots and {MAIL}.", "topics": ["zanzibari"], "key_facts": [MAIL]}
    return {
        "items": [
            item("Keeps two zanzibari parrots", "t1"),
            item(f"Cousin writes from {MAIL}", "t2"),
        ],
        "moments": [],
    }


async def work(storage, settings, *, review, passes=4):
    live = MemorySettings(memory_extraction_provider="openai", memory_extraction_review=review)
    provider = ScriptedProvider(answer)
    worker = Worker(
        storage.background,
        memory_settings=FixedSettings(live),
        providers=BatchProviders(settings, make=lambda _name, _model: provider),
        redactor=Redactor(),
    )
    for _ in range(passes):
        await worker.once()
        async with storage.works_pool.connection() as connection:
            await connection.execute("UPDATE discreet.batch_jobs SET due_at = now() - interval '1 second'")
    return provider


@pytest.mark.parametrize("review", [False, True])
async def test_no_address_is_stored_or_sent(database, settings, review):
    async with open_storage(database, embeddings=StubEmbeddings(dims=256)) as storage:
        await talk(storage, *SAID)
        provider = await work(storage, settings, review=review)
    assert in_rows(database, "zanzibari", mail=MAIL).keys() == {"zanzibari"}
    assert all(MAIL not in request.data for _, requests in provider.batches.values() for request in requests)


@pytest.mark.parametrize("review", [False, True])
async def test_with_a_key_no_word_is_readable(database, settings, review):
    keys = InMemoryKeys()
    async with open_storage(database, embeddings=StubEmbeddings(dims=256), keys=keys) as storage:
        await talk(storage, *SAID)
        await work(storage, settings, review=review)
        assert in_rows(database, "zanzibari") == {}
        waiting = await storage.background.proposals.waiting("ann")
        kept = await storage.memories.latest("ann", filters=MemoryFilters(types=["user_fact"]))
        facts = [p.record.text for p in waiting if p.record.type == "user_fact"]
        assert sorted([*facts, *(r.text for r in kept)]) == [
            "Cousin writes from <EMAIL>",
            "Keeps two zanzibari parrots",
        ]


async def test_a_lost_key_costs_the_turns_under_it_and_nothing_else(database, settings, rows_of):
    async with open_storage(database, embeddings=StubEmbeddings(dims=256), keys=InMemoryKeys()) as storage:
        await talk(storage, *SAID, thread="lost")
    async with open_storage(database, embeddings=StubEmbeddings(dims=256), keys=InMemoryKeys()) as storage:
        await talk(storage, *SAID, user="bob", thread="kept")
        await work(storage, settings, review=False)
        assert len(await storage.memories.latest("bob", filters=MemoryFilters(types=["user_fact"]))) == 2
    states = rows_of(database, "SELECT kind, state FROM discreet.batch_requests ORDER BY 1, 2")
    assert states == [
        ("extraction", "applied"),
        ("extraction", "cancelled"),
        ("summary", "applied"),
        ("summary", "cancelled"),
    ]


@pytest.fixture
def rows_of():
    def read(dsn, query):
        with psycopg.connect(dsn) as connection:
            return connection.execute(query).fetchall()

    return read
