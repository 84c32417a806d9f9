"""What the tables hold of the store's items, and what happens to them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import psycopg
import pytest
from kit.search import in_rows
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from testkit.keys import USER_KEYS

from discreet.encryption import Keyring, make_key
from discreet.errors import (
    EncryptionError,
    InvalidFilterError,
    InvalidRecordError,
    ProviderError,
    StorageError,
    StorageUnavailableError,
)
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.store.namespaces import path_of
from discreet.storage.store.search import build_ranked, question_of
from discreet.testing import InMemoryKeys, StubEmbeddings

SPACE = ("notes", "user-7")
MAIL = "ann" + "@" + "example.com"
CARD = "4111 1111 1111 1111"


@asynccontextmanager
async def opened(dsn, **options):
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=64), **options) as storage:
        yield storage


@pytest.fixture
async def storage(database):
    async with opened(database) as storage:
        yield storage


@pytest.fixture
def store(storage):
    return storage.store


def rows(dsn, query):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


COUNTS = (
    "SELECT (SELECT count(*) FROM discreet.store_item), (SELECT count(*) FROM discreet.memory), "
    "(SELECT coalesce(sum(memories), 0)::integer FROM discreet.user_memories), (SELECT count(*) FROM discreet.users)"
)
"""Items, texts, texts as counted, namespaces."""


@pytest.mark.slow
async def test_sensitive_values_are_placeholders_in_values_and_in_what_they_are_found_by(storage):
    value = {"to": [MAIL, {MAIL: CARD}], "note": f"write to {MAIL}"}
    await storage.store.aput(SPACE, "1", value, index=["note", "to", "$"])
    assert (await storage.store.aget(SPACE, "1")).value == {
        "to": ["<EMAIL>", {"<EMAIL>": "<CARD>"}],
        "note": "write to <EMAIL>",
    }
    assert in_rows(storage.dsn, mail="example.com", card="4111 1111") == {}  # four digits may stand in a random id


async def test_filters_and_questions_are_redacted_as_values_are(store):
    secret = "hunter" + "22x!"
    await store.aput(SPACE, "1", {"mail": MAIL, "password": secret, "text": f"about {MAIL}"})
    for wanted in ({"mail": MAIL}, {"mail": {"$eq": MAIL}}, {"password": secret}, {"password": {"$eq": secret}}):
        assert len(await store.asearch(SPACE, filter=wanted)) == 1
    assert len(await store.asearch(SPACE, query=f"what about {MAIL}?")) == 1


@pytest.mark.parametrize(("space", "key"), [(("notes", "+1 212 555 0147"), "1"), (SPACE, MAIL)])
async def test_namespaces_and_keys_must_be_opaque(store, space, key):
    for op in (PutOp(space, key, {"n": 1}), GetOp(space, key)):
        with pytest.raises(InvalidRecordError) as caught:
            await store.abatch([PutOp(SPACE, "1", {}), op])
        assert MAIL not in str(caught.value)
    assert await store.alist_namespaces() == []


async def test_a_label_is_not_quoted_when_it_is_refused(store):
    for space in [(MAIL,), ("a\x1fb",), ("a\x85",), ("\ud800",), ("x" * 1_000, "ж" * 600)]:
        with pytest.raises((InvalidNamespaceError, InvalidRecordError)) as caught:
            await store.abatch([PutOp(space, "1", {})])
        assert not any(label in str(caught.value) for label in space)


async def test_the_longest_namespace_fits(store):
    space = ("ж" * 332,) * 3  # 1,992 bytes and four separators
    await store.aput(space, "1", {"text": "parrots"})
    assert len(await store.asearch(space[:2], query="parrots")) == 1
    assert await store.alist_namespaces() == [space]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("value", [{"x": float("nan")}, {"x": float("inf")}, {"x": object}, {1: {2, 3}}])
async def test_what_is_no_json_does_not_get_in(store, value):
    try:
        await store.abatch([PutOp(SPACE, "0", {}), PutOp(SPACE, "1", value)])
    except InvalidRecordError:
        assert await store.aget(SPACE, "0") is None
    else:
        assert (await store.aget(SPACE, "1")).value in ({"x": "<UNKNOWN>"}, {"1": "<UNKNOWN>"}, {"1": [2, 3]})


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("number", [float("inf"), float("nan"), -1, 2**31, 1.5, "5", None])
async def test_a_page_of_no_size_is_refused(store, number):
    for page in ({"limit": number}, {"offset": number}):
        for call in (store.asearch(("a",), query="owl", **page), store.alist_namespaces(**page)):
            with pytest.raises(InvalidFilterError, match="whole number"):
                await call


async def test_hard_texts_are_stored_and_found(store):
    value = {"text": "a\0b \ud800 parrot'); DROP TABLE discreet.memory; -- %s {}", "na\0me": 1}
    await store.aput(SPACE, "1", value)
    assert (await store.aget(SPACE, "1")).value == {
        "text": "ab \ufffd parrot'); DROP TABLE discreet.memory; -- %s {}",
        "name": 1,
    }
    assert len(await store.asearch(SPACE, query="\0 \ud800 parrot")) == 1


async def test_deleting_an_item_leaves_nothing_of_it(storage):
    store = storage.store
    await store.aput(SPACE, "1", {"texts": ["parrots", "tea"]}, index=["texts[*]"])
    await store.aput(SPACE, "2", {"text": "rain"})
    assert rows(storage.dsn, COUNTS) == [(2, 3, 3, 1)]
    await store.adelete(SPACE, "1")
    assert rows(storage.dsn, COUNTS) == [(1, 1, 1, 1)]
    await store.adelete(SPACE, "2")
    await store.adelete(SPACE, "2")
    assert rows(storage.dsn, COUNTS) == [(0, 0, 0, 0)]


@pytest.mark.slow
async def test_putting_again_replaces_the_texts(storage):
    for texts in (["parrots", "tea", "rain"], ["tea"], [], ["snow", "tea"]):
        await storage.store.aput(SPACE, "1", {"texts": texts}, index=["texts[*]"])
        assert rows(storage.dsn, "SELECT text FROM discreet.memory ORDER BY position") == [(text,) for text in texts]
        assert rows(storage.dsn, COUNTS) == [(1, len(texts), len(texts), 1)]
    await storage.store.aput(SPACE, "1", {"texts": ["tea"]}, index=False)
    assert rows(storage.dsn, COUNTS) == [(1, 0, 0, 1)]


async def test_sweeping_takes_texts_and_empty_namespaces_along(storage):
    store = storage.store
    await store.aput(SPACE, "1", {"text": "parrots"}, ttl=1)
    await store.aput(SPACE, "2", {"text": "tea"})
    await store.aput(("other",), "3", {"text": "rain"}, ttl=1)
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("UPDATE discreet.store_item SET expires_at = now() - interval '1 minute' WHERE key <> '2'")
    assert rows(storage.dsn, COUNTS) == [(2 + 1, 3, 3, 2)]
    assert await store.sweep_ttl() == 2
    assert rows(storage.dsn, COUNTS) == [(1, 1, 1, 1)]
    assert await store.alist_namespaces() == [SPACE]


async def test_a_namespace_that_is_being_written_is_swept_later(storage):
    await storage.store.aput(SPACE, "1", {}, ttl=1)
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("UPDATE discreet.store_item SET expires_at = now() - interval '1 minute'")
        connection.commit()
        [(user_key,)] = connection.execute("SELECT user_key FROM discreet.user_memories")
        connection.execute("SELECT FROM discreet.user_memories WHERE user_key = %s FOR NO KEY UPDATE", (user_key,))
        assert await storage.store.sweep_ttl() == 0
    assert await storage.store.sweep_ttl() == 1


async def test_with_a_key_nothing_readable_is_stored_and_everything_works(database, token):
    async with opened(database, keys=InMemoryKeys()) as storage:
        store = storage.store
        await store.aput(SPACE, "1", {"text": f"the {token} parrot", "n": 1})
        await store.aput(SPACE, "2", {"text": "oolong", "n": 2})
        assert in_rows(database, word=token, other="oolong") == {}
        assert (await store.aget(SPACE, "1")).value == {"text": f"the {token} parrot", "n": 1}
        assert [item.key for item in await store.asearch(SPACE, filter={"n": {"$gt": 1}})] == ["2"]
        assert [item.key for item in await store.asearch(SPACE, query="parrot", filter={"n": {"$lte": 2}})] == [
            "1",
            "2",
        ]
        assert [item.key for item in await store.asearch(SPACE, query="parrot", filter={"n": 2})] == ["2"]
        assert await store.asearch(SPACE, query="parrot", filter={"n": 3}) == []


@pytest.mark.slow
async def test_sealed_items_have_pages(database):
    async with opened(database, keys=InMemoryKeys()) as storage:
        await storage.store.abatch([PutOp(SPACE, str(n), {"n": n}, index=False) for n in range(30)])
        everything = [item.key for item in await storage.store.asearch(SPACE, limit=30)]
        fitting = [key for key in everything if int(key) >= 10]
        pages = [
            item.key
            for offset in range(0, 25, 7)
            for item in await storage.store.asearch(SPACE, filter={"n": {"$gte": 10}}, limit=7, offset=offset)
        ]
        assert pages == fitting


async def test_items_from_before_there_was_a_key_are_found_without_one_and_lost_keys_are_named(database):
    async with opened(database) as storage:
        await storage.store.aput(SPACE, "old", {"n": 1})
    async with opened(database, keys=InMemoryKeys()) as storage:
        await storage.store.aput(SPACE, "new", {"n": 1})
        assert {item.key for item in await storage.store.asearch(SPACE, filter={"n": 1})} == {"new"}
    async with opened(database) as storage:
        assert (await storage.store.aget(SPACE, "old")).value == {"n": 1}
        with pytest.raises(EncryptionError):
            await storage.store.aget(SPACE, "new")
        assert [item.key for item in await storage.store.asearch(SPACE)] == ["old"]


@pytest.mark.one_server("moves values between rows that are on several nodes")
async def test_a_sealed_value_that_was_moved_to_another_item_is_not_opened(database):
    async with opened(database, keys=InMemoryKeys()) as storage:
        await storage.store.abatch([PutOp(SPACE, "1", {"n": 1}), PutOp(SPACE, "2", {"n": 2})])
        with psycopg.connect(database) as connection:
            connection.execute(
                "UPDATE discreet.store_item a SET sealed_value = b.sealed_value FROM discreet.store_item b "
                "WHERE a.key = '1' AND b.key = '2'"
            )
        with pytest.raises(EncryptionError):
            await storage.store.aget(SPACE, "1")


def processes(storage, count):
    """Return stores that merge no calls of each other, as those of other processes do not."""
    return [storage.store.configured() for _ in range(count)]


@pytest.mark.slow
async def test_writers_at_once_leave_whole_items_and_never_wait_for_each_other(storage):
    await asyncio.gather(*(storage.pool.resize(min_size=8, max_size=8), storage.pool.wait()))
    spaces = [("at once", str(n)) for n in range(3)]

    async def write(writer, store):
        order = spaces[writer % 3 :] + spaces[: writer % 3]
        puts = [
            PutOp(space, "k", {"texts": [f"writer {writer}"] * (1 + writer % 4)}, index=["texts[*]"]) for space in order
        ]
        await store.abatch([*puts, GetOp(spaces[0], "k")])

    for _ in range(2):
        await asyncio.gather(*(write(n, store) for n, store in enumerate(processes(storage, 16))))
    for space in spaces:
        item = await storage.store.aget(space, "k")
        [found] = await storage.store.asearch(space, query=item.value["texts"][0])
        assert found.score > 0.9
    written = sum(len(item.value["texts"]) for item in await storage.store.asearch(("at once",)))
    assert rows(storage.dsn, COUNTS) == [(3, written, written, 3)]


@pytest.mark.slow
async def test_writers_in_different_rounds_of_the_loop_are_all_heard(storage):
    async def write(writer):
        await asyncio.sleep(0.001 * (writer % 5))
        for n in range(4):
            await storage.store.aput(SPACE, f"{writer} {n}", {"text": f"note {n} of {writer}"}, ttl=60)
            await storage.store.asearch(SPACE, query="note")
            if n % 2:
                await storage.store.adelete(SPACE, f"{writer} {n}")

    await asyncio.gather(*map(write, range(16)))
    assert rows(storage.dsn, COUNTS) == [(32, 32, 32, 1)]


@pytest.mark.slow
async def test_a_connection_that_breaks_in_the_middle_of_a_batch_leaves_nothing_half_written(storage, monkeypatch):
    await storage.store.aput(SPACE, "1", {"text": "keeps parrots"})
    before = rows(storage.dsn, COUNTS)

    async def break_connections(*_args, **_options):
        with psycopg.connect(storage.dsn, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    # The items are written by then, in the transaction that never commits.
    monkeypatch.setattr("discreet.storage.store.writes.write_rows", break_connections)
    with pytest.raises(StorageUnavailableError):
        await storage.store.abatch([PutOp(SPACE, "1", {"text": "sold them"}), PutOp(("other",), "2", {"text": "tea"})])
    monkeypatch.undo()
    [(*kept, _)] = rows(storage.dsn, COUNTS)  # a namespace's own row is made before
    assert kept == [*before[0][:3]]
    assert (await storage.store.aget(SPACE, "1")).value == {"text": "keeps parrots"}


async def test_a_model_that_fails_stops_the_whole_batch(storage, monkeypatch):
    async def fail(_self, _texts):
        raise ProviderError

    monkeypatch.setattr(StubEmbeddings, "aembed_documents", fail)
    with pytest.raises(ProviderError):
        await storage.store.abatch([PutOp(SPACE, "1", {}, index=False), PutOp(SPACE, "2", {"text": "tea"})])
    assert rows(storage.dsn, COUNTS) == [(0, 0, 0, 0)]


async def test_what_is_wrong_with_one_call_is_not_told_the_others(store):
    answers = await asyncio.gather(
        store.aput(SPACE, "1", {"n": 1}),
        store.aput(SPACE, MAIL, {"n": 2}),
        store.aput(SPACE, "3", {"n": 3}, ttl=1e300),  # no interval is as long
        store.aput(SPACE, "4", {"n": 4}),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [type(None), InvalidRecordError, StorageError, type(None)]
    assert {item.key for item in await store.asearch(SPACE)} == {"1", "4"}


async def test_no_error_shows_what_was_put(store):
    with pytest.raises(StorageError) as caught:
        await store.aput(SPACE, "1", {"text": "my secret parrot"}, ttl=1e300)
    assert "parrot" not in f"{caught.value!r} {caught.value.__cause__!r}"


@pytest.mark.slow
@pytest.mark.parametrize("dims", [512, 1536])
async def test_long_values_and_wide_vectors_fit(database, dims):
    words = " ".join(f"word{n}" for n in range(3_000))
    async with open_storage(database, embeddings=StubEmbeddings(dims=dims)) as storage:
        await storage.store.aput(SPACE, "long", {"text": words, "more": {"text": words[::-1]}})
        await storage.store.abatch([PutOp(SPACE, f"n{n}", {"text": f"short {n}"}) for n in range(30)])
        assert len(await storage.store.asearch(SPACE, query="short", limit=31)) == 31
        assert (await storage.store.asearch(SPACE, query="word7 word8", limit=1))[0].key == "long"


async def test_memories_and_items_do_not_meet(storage):
    await storage.memories.save("ann", [MemoryRecord(text="Ann keeps parrots")])
    await storage.store.aput(("ann",), "1", {"text": "parrots of the store"})
    assert [hit.record.text for hit in await storage.memories.search("ann", "parrots")] == ["Ann keeps parrots"]
    assert [item.value["text"] for item in await storage.store.asearch((), query="parrots")] == ["parrots of the store"]
    assert await storage.store.alist_namespaces() == [("ann",)]


@pytest.mark.slow
async def test_a_search_of_one_namespace_reads_the_covering_index(storage):
    store = storage.store
    await store.abatch([PutOp(("many", str(n % 20)), str(n), {"text": f"note {n}"}) for n in range(400)])
    with psycopg.connect(storage.dsn, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE discreet.memory, discreet.store_item, discreet.store_namespace")
    plans = await _plans(store, ("many", "7"))
    assert "Index Only Scan using memory_pkey" in plans
    assert "Seq Scan on memory" not in plans


async def _plans(store, space):
    """Return the plan of the search that a question asks for."""
    runner = store._runner
    vector = await runner.embeddings.aembed_query("note")
    question = question_of("note", vector, {1: 1.0}, USER_KEYS.token_digest)
    namespace = USER_KEYS.of_namespace(path_of(space))
    search = build_ranked(
        SearchOp(space), [namespace], question, runner.rules.space, "convex", conditions=[], shortlist=150
    )
    async with runner.pool.connection() as conn:
        found = await (await conn.execute(f"EXPLAIN {search.statement}", search.parameters)).fetchall()
    return "\n".join(row["QUERY PLAN"] for row in found)


@pytest.mark.slow
async def test_an_item_under_a_lost_key_is_left_out_of_what_is_found(database, caplog):
    known = Keyring([make_key()])
    for keys, name in [(Keyring([make_key()]), "lost"), (known, "kept")]:
        async with open_storage(database, embeddings=StubEmbeddings(dims=64), keys=keys) as storage:
            await storage.store.aput(SPACE, name, {"text": f"tea that is {name}", "kind": "tea"})
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), keys=known) as storage:
        searches = [{}, {"query": "tea"}, {"filter": {"kind": "tea"}}, {"query": "tea", "filter": {"kind": "tea"}}]
        for asked in searches:
            assert [item.key for item in await storage.store.asearch(SPACE, **asked)] == ["kept"]
            assert "storage.unreadable kind=item rows=1" in caplog.records[-1].getMessage()
        with pytest.raises(EncryptionError):
            await storage.store.aget(SPACE, "lost")
        await storage.store.adelete(SPACE, "lost")
        assert rows(database, COUNTS) == [(1, 1, 1, 1)]
