"""An export in portions: all of it, once, whatever fits in each."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from discreet.access.actor import Actor, acting
from discreet.errors import ExportError
from discreet.rights.exporting import begin, read_portion
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), maintained=False) as opened:
        yield opened


async def portions(storage, user, max_chars):
    after, found = None, []
    while True:
        portion = await read_portion(begin(storage, user, after=after), max_chars=max_chars)
        found.append(portion)
        if portion.after is None:
            return found
        after = portion.after.token


def records(*texts):
    return [
        MemoryRecord(text=text, created_at=NOW + timedelta(days=number), type="conversation_insight")
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize("max_chars", [1_500, 20_000])
async def test_portions_together_are_the_export(storage, max_chars):
    given = records(*(f"Word{number} is a word of mine" for number in range(50)))
    saved = await storage.memories.save("ann", given, dedup=False)
    await storage.memories.save("bob", records("Bob has none of them"))
    found = await portions(storage, "ann", max_chars)
    memories = [data for each in found for kind, data in each.records if kind == "memories"]
    assert len(memories) == len(set(memories)) == len(saved)
    assert all(sum(len(data) for _, data in each.records) <= max_chars for each in found)
    assert all(each.records for each in found[:-1])
    assert not any(each.omitted for each in found)
    assert not any("Bob" in data for data in memories)


@pytest.mark.dialect
async def test_a_record_that_is_larger_than_a_portion_is_counted(storage):
    await storage.memories.save("ann", records("A short one", "long " * 500, "Another short one"), dedup=False)
    found = await portions(storage, "ann", 1_500)
    texts = " ".join(data for each in found for _, data in each.records)
    assert "A short one" in texts
    assert "Another short one" in texts
    assert "long long" not in texts
    assert sum((each.omitted for each in found), Counter()) == {"memories": 1}


async def test_each_portion_is_in_the_audit_trail_before_it_is_handed_out(storage, database):
    await storage.memories.save("ann", records("Keeps parrots"))
    with acting(Actor(kind="mcp")):
        await read_portion(begin(storage, "ann"), max_chars=20_000)
    with psycopg.connect(database) as connection:
        told = connection.execute(
            "SELECT actor_kind, success, counts FROM discreet.audit_entry WHERE action = 'user.export'"
        ).fetchall()
    assert [(kind, success, counts["memories"]) for kind, success, counts in told] == [("mcp", True, 1)]


async def test_a_mark_of_nobody_is_refused(storage):
    with pytest.raises(ExportError):
        begin(storage, "ann", after="none")
