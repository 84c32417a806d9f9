"""Texts at rest when there is an encryption key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from kit.search import in_rows

from discreet.encryption import Keyring, make_key
from discreet.errors import EncryptionError
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

NOW = datetime(2026, 3, 1, tzinfo=UTC)
STUB = StubEmbeddings(dims=64)


def opened(database, keys):
    return open_storage(database, embeddings=STUB, keys=keys)


def turn(position, text):
    return MemoryRecord(text=text, type="turn", thread_id="thread", position=position)


@pytest.mark.slow
@pytest.mark.direct("parameters in the DSN")
async def test_no_text_is_readable_at_rest_and_all_of_it_comes_back(database):
    token = "zanzibarine"
    async with opened(database, Keyring([make_key()])) as storage:
        record = MemoryRecord(
            text=f"Keeps a parrot called {token}",
            reasoning=f"1) {token} 2) a parrot",
            feedback=[{"comment": f"{token} it is"}],
        )
        [saved] = await storage.memories.save("ann", [record])
        assert (saved.text, saved.reasoning, saved.feedback) == (record.text, record.reasoning, record.feedback)
        saved = await storage.memories.add_feedback("ann", saved.entry_id, {"comment": f"{token} indeed"})
        await storage.log.append(
            TurnRecord(
                request_id="r",
                user_id="ann",
                thread_id="t",
                input_text=f"Hi {token}",
                output_text=f"Hello {token}",
                started_at=NOW,
                ended_at=NOW,
            )
        )
        assert saved.feedback == [*record.feedback, {"comment": f"{token} indeed"}]
        [hit] = await storage.memories.search("ann", "parrot")
        assert hit.record == saved
        assert await storage.memories.get("ann", saved.entry_id) == saved
        assert await storage.memories.latest("ann") == [saved]
    assert in_rows(database, word=token) == {}
    async with opened(database, None) as storage:
        await storage.memories.save("ann", [MemoryRecord(text=f"in the open: {token}")])
    assert in_rows(database, word=token)  # the search of the tables does find what is there


@pytest.mark.slow
async def test_without_its_key_a_text_is_refused_and_the_message_says_what_to_set(database):
    async with opened(database, Keyring([make_key()])) as storage:
        [saved] = await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    async with opened(database, None) as storage:
        with pytest.raises(EncryptionError, match="DISCREET_ENCRYPTION_KEYS"):
            await storage.memories.get("ann", saved.entry_id)
    async with opened(database, Keyring([make_key()])) as storage:
        with pytest.raises(EncryptionError):
            await storage.memories.get("ann", saved.entry_id)
        assert await storage.memories.delete_many("ann", MemoryFilters()) == 1


@pytest.mark.slow
async def test_a_lost_key_costs_the_rows_under_it_and_no_others(database, caplog):
    async with opened(database, Keyring([make_key()])) as storage:
        lost = [turn(1, "About parrots"), MemoryRecord(text="Keeps parrots", entry_id=UUID(int=7))]
        [said, fact] = await storage.memories.save("ann", lost)
    async with opened(database, Keyring([make_key()])) as storage:
        memories = storage.memories
        [before, after] = await memories.save("ann", [turn(0, "Two parrots"), turn(2, "Yes, parrots")])
        [known] = await memories.save("ann", [MemoryRecord(text="Keeps parrots and a dog")])
        found = {hit.record.entry_id for hit in await memories.search("ann", "parrots")}
        assert found == {before.entry_id, after.entry_id, known.entry_id}
        assert {record.entry_id for record in await memories.latest("ann")} == found
        event = caplog.records[-1].getMessage()
        assert "storage.unreadable kind=memory rows=2" in event
        assert str(said.entry_id) in event
        assert str(fact.entry_id) in event
        [replaced] = await memories.save("ann", [MemoryRecord(text="Has a dog", entry_id=fact.entry_id)])
        assert (await memories.get("ann", fact.entry_id)) == replaced
        [again] = await memories.save("ann", [turn(1, "About a dog")])
        assert again.entry_id == said.entry_id
        assert (await memories.get("ann", said.entry_id)).text == "About a dog"
        assert await memories.delete("ann", again.entry_id)


@pytest.mark.slow
async def test_a_page_is_filled_with_what_is_older_than_rows_under_a_lost_key(database, monkeypatch):
    monkeypatch.setattr("discreet.storage.memories.memories.AT_ONCE", 2)
    known = Keyring([make_key()])
    for keys, days in [(known, range(4)), (Keyring([make_key()]), range(4, 9)), (known, range(9, 10))]:
        async with opened(database, keys) as storage:
            said = [MemoryRecord(text=f"Day {day}", created_at=NOW + timedelta(days=day)) for day in days]
            await storage.memories.save("ann", said, dedup=False)
    async with opened(database, known) as storage:
        first = await storage.memories.latest("ann", limit=2)
        assert [record.text for record in first] == ["Day 9", "Day 3"]
        second = await storage.memories.latest("ann", limit=9, older_than=first[-1].entry_id)
        assert [record.text for record in second] == ["Day 2", "Day 1", "Day 0"]
        assert await storage.memories.latest("ann", limit=0) == []


@pytest.mark.slow
async def test_what_was_stored_under_the_key_before_stays_readable_and_what_was_before_any_key_does_not(database):
    old, new = make_key(), make_key()
    for keys, text in [
        (None, "parrot in the open"),
        (Keyring([old]), "parrot of old"),
        (Keyring([new, old]), "parrot"),
    ]:
        async with opened(database, keys) as storage:
            await storage.memories.save("ann", [MemoryRecord(text=text)])
    async with opened(database, Keyring([new, old])) as storage:
        found = await storage.memories.search("ann", "parrot")
        assert {hit.record.text for hit in found} == {"parrot of old", "parrot"}


@pytest.mark.one_server("moves values between rows that are on several nodes")
async def test_a_sealed_text_that_is_moved_to_another_row_cannot_be_opened(database):
    async with opened(database, Keyring([make_key()])) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
        await storage.memories.save("bob", [MemoryRecord(text="Likes tea")])
        with psycopg.connect(database) as connection:
            connection.execute(
                "UPDATE discreet.memory m SET sealed_text = o.sealed_text FROM discreet.memory o "
                "WHERE o.user_key <> m.user_key"
            )
        assert await storage.memories.latest("ann") == []


async def test_facts_are_consolidated_and_words_of_neighbours_kept_in_step_though_sealed(database):
    async with opened(database, Keyring([make_key()])) as storage:
        [first] = await storage.memories.save("ann", [MemoryRecord(text="Likes green tea")])
        [again] = await storage.memories.save("ann", [MemoryRecord(text="likes green tea")])
        assert again.entry_id == first.entry_id
        await storage.memories.save("ann", [turn(0, "Do you keep parrots?")])
        await storage.memories.save("ann", [turn(1, "Indeed")])
        found = await storage.memories.search("ann", "parrots", filters=MemoryFilters(types=["turn"]))
        assert [hit.record.text for hit in found] == ["Do you keep parrots?", "Indeed"]
        assert found[1].score > 0
