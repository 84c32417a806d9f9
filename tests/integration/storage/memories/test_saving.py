"""What is in the database after memories were saved."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from kit.search import in_rows
from pgvector import SparseVector
from testkit.keys import USER_KEYS

from discreet.errors import InvalidUserError, StorageError, StorageUnavailableError
from discreet.retrieval.lexical import CONTEXT, MAX_TOKENS, token_id
from discreet.state.records import MemoryRecord, Provenance
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

MAIL = "ann" + "@" + "example.com"


def turn(position, text, **values):
    return MemoryRecord(text=text, type="turn", thread_id="thread", position=position, **values)


def rows(dsn, query):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


def words_of_neighbours(dsn):
    """Return how many words each memory has of its neighbours only; each has three marks: day, month and year."""
    found = (SparseVector.from_text(text) for (text,) in rows(dsn, "SELECT lexical::text FROM discreet.memory"))
    return [sum(place >= CONTEXT for place in each.indices()) - 3 for each in found]


async def texts(memories, user_id, query="parrot", **options):
    return [hit.record.text for hit in await memories.search(user_id, query, **options)]


async def test_a_record_comes_back_as_it_was_saved(memories):
    record = MemoryRecord(
        text="Keeps two parrots",
        type="preference",
        request_id="r-1",
        thread_id="thread",
        position=7,
        agent_id="agent",
        app_name="app",
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
        importance=9,
        confidence=0.25,
        tags=["pets", "птицы"],
        conflict_flags=[str(uuid4())],
        loop_flag=True,
        provenance=Provenance(model="m", source="api"),
        feedback=[{"rating": 5, "comment": "yes"}],
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
        valid_to=datetime.now(UTC) + timedelta(days=1),
    )
    assert await memories.save("ann", [record]) == [record]
    [hit] = await memories.search("ann", "parrots")
    assert hit.record == record
    assert MemoryRecord.model_validate(hit.record.model_dump()) == record


async def test_no_records_are_no_work(memories):
    assert await memories.save("ann", []) == []


async def test_an_address_is_stored_as_a_placeholder_and_nowhere_in_the_tables(storage):
    [saved] = await storage.memories.save(
        "u",
        [MemoryRecord(text=f"Write to {MAIL}", tags=[MAIL], feedback=[{"comment": MAIL}], thread_id="t", position=0)],
    )
    assert (saved.text, saved.tags) == ("Write to <EMAIL>", ["<EMAIL>"])
    assert in_rows(storage.dsn, mail="example.com") == {}


async def test_the_same_fact_again_refreshes_it(storage):
    [first] = await storage.memories.save("ann", [MemoryRecord(text="Likes tea", importance=8)])
    [again] = await storage.memories.save("ann", [MemoryRecord(text=" likes TEA ", importance=2)])
    assert (again.entry_id, again.text, again.importance) == (first.entry_id, "Likes tea", 8)
    assert rows(storage.dsn, "SELECT count(*) FROM discreet.memory") == [(1,)]


async def test_the_same_fact_of_another_user_application_or_type_is_another(storage):
    await storage.memories.save("ann", [MemoryRecord(text="Likes tea")])
    await storage.memories.save("bob", [MemoryRecord(text="Likes tea")])
    await storage.memories.save("ann", [MemoryRecord(text="Likes tea", app_name="other")])
    await storage.memories.save("ann", [MemoryRecord(text="Likes tea", type="preference")])
    assert rows(storage.dsn, "SELECT count(*) FROM discreet.memory") == [(4,)]


async def test_a_turn_replaces_the_one_at_its_place(storage):
    [first] = await storage.memories.save("ann", [turn(1, "about parrots")])
    [second] = await storage.memories.save("ann", [turn(1, "about cats")])
    assert second.entry_id == first.entry_id
    assert await texts(storage.memories, "ann") == ["about cats"]


async def test_facts_of_one_turn_share_its_place(storage):
    facts = [MemoryRecord(text=text, thread_id="thread", position=1) for text in ("Has a cat", "Has a dog")]
    await storage.memories.save("ann", [turn(1, "I have a cat and a dog"), *facts])
    assert rows(storage.dsn, "SELECT count(*) FROM discreet.memory") == [(3,)]


async def test_a_known_id_updates_the_users_own_record_and_never_anothers(memories):
    record = MemoryRecord(text="Keeps parrots")
    await memories.save("ann", [record])
    await memories.save("bob", [MemoryRecord(text="Keeps no parrots", entry_id=record.entry_id)])
    assert await texts(memories, "ann") == ["Keeps parrots"]
    await memories.save("ann", [MemoryRecord(text="Kept parrots", entry_id=record.entry_id)])
    assert await texts(memories, "ann") == ["Kept parrots"]
    assert await texts(memories, "bob") == ["Keeps no parrots"]


FACT = token_id("fact", USER_KEYS.token_digest)


@pytest.mark.slow
async def test_writers_of_the_same_facts_at_once_leave_one_of_each(database):
    facts = [f"Fact about {word}" for word in ("tea", "cats", "rain", "rock", "snow")]
    async with open_storage(database, embeddings=StubEmbeddings(dims=256)) as storage:
        await asyncio.gather(
            *(storage.memories.save("ann", [MemoryRecord(text=text) for text in facts]) for _ in range(16))
        )
    assert rows(database, "SELECT count(*), count(DISTINCT text) FROM discreet.memory") == [(5, 5)]
    counted = (
        "SELECT sum(x.documents) FROM discreet.user_token u, unnest(u.tokens, u.documents) AS x (token, documents)"
    )
    assert rows(database, f"{counted} WHERE x.token = {FACT}") == [(5,)]


@pytest.mark.slow
async def test_new_users_at_once_do_not_meet(storage):
    await asyncio.gather(*(storage.memories.save(f"user {n}", [MemoryRecord(text="Likes tea")]) for n in range(24)))
    assert rows(storage.dsn, "SELECT count(*), count(DISTINCT user_key) FROM discreet.memory") == [(24, 24)]


async def test_the_words_of_neighbours_are_kept_in_step(storage):
    memories = storage.memories
    await memories.save("ann", [turn(1, "Do you keep parrots?"), turn(3, "Indeed")])
    [answer] = await memories.save("ann", [turn(2, "Two of them")])
    hits = await memories.search("ann", "parrots")
    assert [hit.record.text for hit in hits][:2] == ["Do you keep parrots?", "Two of them"]
    assert await texts(memories, "ann", "two", threshold=1.0) == ["Two of them"]
    assert sorted(words_of_neighbours(storage.dsn)) == [2, 3, 3]
    assert await memories.delete("ann", answer.entry_id)
    assert sorted(words_of_neighbours(storage.dsn)) == [1, 2]


async def test_a_turn_has_the_words_of_two_turns_on_each_side(storage):
    spoken = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
    for position in (0, 5, 3, 1, 4, 2):
        await storage.memories.save("ann", [turn(position, spoken[position])])
    for position, word in enumerate(spoken):
        hits = await storage.memories.search("ann", word, limit=6)
        near = {spoken[at] for at in range(max(0, position - 2), min(6, position + 3))}
        scores = {hit.record.text: hit.score for hit in hits}
        assert {text for text, score in scores.items() if score > 0} == near
        assert hits[0].record.text == word
        beside = [scores[spoken[at]] for at in (position - 1, position + 1) if 0 <= at < len(spoken)]
        further = [scores[spoken[at]] for at in (position - 2, position + 2) if 0 <= at < len(spoken)]
        assert min(beside) > max(further) > 0


async def test_a_record_that_moves_takes_its_words_from_its_old_neighbours(storage):
    first, second = turn(1, "parrots"), turn(2, "indeed")
    await storage.memories.save("ann", [first, second])
    await storage.memories.save("ann", [first.model_copy(update={"thread_id": "another"})])
    assert words_of_neighbours(storage.dsn) == [0, 0]


HARD_TEXTS = {
    "nul": "a\0b parrot",
    "surrogate": "parrot \ud800",
    "quotes": "parrot'); DROP TABLE discreet.memory; --",
    "percent": "100 % parrot %s %(user_id)s",
    "braces": "{1:2}/3 parrot {}",
    "emoji": "parrot 🦜👨‍👩‍👧",
    "right to left": "parrot ببغاء",
}


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("text", HARD_TEXTS.values(), ids=HARD_TEXTS)
async def test_hard_text_is_stored_and_found(memories, text):
    await memories.save("ann", [MemoryRecord(text=text)])
    assert len(await memories.search("ann", text)) == 1
    assert len(await memories.search("ann", "parrot", threshold=1.0)) == 1


@pytest.mark.slow
@pytest.mark.dialect
@pytest.mark.parametrize("dims", [8, 512, 513, 1536, 4000])
async def test_the_longest_text_with_the_widest_vectors_fits(database, dims):
    han = "".join(chr(0x4E00 + n) for n in range(4_000))
    words = " ".join(f"word{n}" for n in range(400))
    user = "ж" * 200
    long_ids = {"thread_id": "t" * 10_000, "agent_id": "a" * 10_000, "request_id": "r" * 10_000, "app_name": "п" * 200}
    async with open_storage(database, embeddings=StubEmbeddings(dims=dims)) as storage:
        records = [
            MemoryRecord(text=text, type="turn", position=position, tags=["tag" * 33] * 50, **long_ids)
            for position, text in enumerate([han, words, words[::-1]])
        ]
        future = datetime.now(UTC) + timedelta(days=1)
        await storage.memories.save(user, [record.model_copy(update={"valid_to": future}) for record in records])
        hits = await storage.memories.search(user, "word7", threshold=1.0)
        assert [hit.record.text for hit in hits] == [words]
    assert rows(database, "SELECT max(l2_norm(embedding)) < 1.01 FROM discreet.memory") == [(True,)]
    assert MAX_TOKENS == 180


async def test_a_position_that_no_database_can_hold_is_a_storage_error_and_stores_nothing(storage):
    far = turn(0, "far away").model_copy(update={"position": 2**70})  # past the record's own check
    with pytest.raises(StorageError):
        await storage.memories.save("ann", [MemoryRecord(text="Likes tea"), far])
    assert rows(storage.dsn, "SELECT count(*) FROM discreet.memory") == [(0,)]


async def test_a_number_is_its_digits(memories):
    (stored,) = await memories.save(7, [MemoryRecord(text="parrots")])
    for user_id in (7, "7"):
        [hit] = await memories.search(user_id, "parrots")
        assert hit.record.text == "parrots"
    assert await memories.delete("7", stored.entry_id)


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("user_id", ["", " ", "a\0b", "x" * 201, "\ud800", None, True, 7.5, b"7"])
async def test_a_user_id_that_cannot_be_used_is_refused_by_every_call(memories, user_id):
    with pytest.raises(InvalidUserError):
        await memories.save(user_id, [MemoryRecord(text="x")])
    with pytest.raises(InvalidUserError):
        await memories.search(user_id, "x")
    with pytest.raises(InvalidUserError):
        await memories.delete(user_id, uuid4())


@pytest.mark.slow
async def test_a_server_that_goes_away_mid_way_is_typed_and_nothing_is_half_written(storage, monkeypatch):
    [kept] = await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])

    async def break_connections(*_args, **_values):
        with psycopg.connect(storage.dsn, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    # The rows are written by then, in the transaction that never commits.
    monkeypatch.setattr("discreet.storage.memories.saving.refresh_words", break_connections)
    with pytest.raises(StorageUnavailableError):
        await storage.memories.save(
            "ann", [MemoryRecord(text="Likes tea"), MemoryRecord(text="Kept parrots", entry_id=kept.entry_id)]
        )
    monkeypatch.undo()
    assert rows(storage.dsn, "SELECT text FROM discreet.memory") == [("Keeps parrots",)]
    assert await texts(storage.memories, "ann") == ["Keeps parrots"]  # the pool has replaced what was broken


async def test_no_error_shows_what_was_saved(storage):
    far = turn(0, "my secret parrot").model_copy(update={"position": 2**70})  # past the record's own check
    with pytest.raises(StorageError) as caught:
        await storage.memories.save("ann", [far])
    shown = f"{caught.value!r} {caught.value.__cause__!r}"
    assert "parrot" not in shown
    assert caught.value.__suppress_context__
