"""Memories that somebody deletes, adds or puts back past Discreet are found by a keyed count of each person's."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from discreet.cli import app
from discreet.encryption import Keyring, make_key, write_key
from discreet.rights.erasure import Erasures, Scope
from discreet.rights.erasure.plans import Plans
from discreet.settings import load_settings
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.storage.memories.entry_verifying import verify_counts
from discreet.storage.store.namespaces import path_of
from discreet.testing import StubEmbeddings

NOW = datetime.now(UTC)
FACTS = ["Keeps parrots", "Nuôi hai con vẹt", "Держит попугаев", "养鹦鹉"]


def opened(dsn, keys=None, **values):
    settings = load_settings().model_copy(update={"reembed": False, **values})
    return open_storage(dsn, embeddings=StubEmbeddings(dims=32), keys=keys, settings=settings, maintained=False)


def run(dsn, statement, *given):
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(statement, given)
        return cursor.fetchall() if cursor.description else []


async def found(storage):
    keys = storage.background.keys
    report = await verify_counts(storage.works_pool, keys, erasing=Plans(keys).erasing)
    assert report.found == len(report.findings)
    return {each.user_key: each.problem for each in report.findings}


async def have(storage, user="ann", texts=FACTS):
    return await storage.memories.save(user, [MemoryRecord(text=text) for text in texts], dedup=False)


OF_ANN = "user_key = %(ann)s"
DELETE = f"""
DELETE FROM discreet.memory WHERE {OF_ANN}
AND entry_id = (SELECT entry_id FROM discreet.memory WHERE {OF_ANN} ORDER BY entry_id LIMIT 1)
"""
CHANGED, MISSING = "The count was changed, or taken away.", "Memories are missing."
ADDED = "There are memories that were not counted."
OTHERS = "There are other memories than those that were counted."
TAMPERED = {
    "one is missing": ([DELETE], MISSING),
    "all are missing": ([f"DELETE FROM discreet.memory WHERE {OF_ANN}"], MISSING),
    "one is missing and the number says so": (
        [DELETE, f"UPDATE discreet.user_memories SET memories = memories - 1 WHERE {OF_ANN}"],
        CHANGED,
    ),
    "the count is gone": ([f"UPDATE discreet.user_memories SET entries = NULL WHERE {OF_ANN}"], CHANGED),
    "the row of the count is gone": ([f"DELETE FROM discreet.user_memories WHERE {OF_ANN}"], ADDED),
    "one was copied": (
        [
            f"CREATE TEMP TABLE copy AS SELECT * FROM discreet.memory WHERE {OF_ANN} LIMIT 1",
            "UPDATE copy SET entry_id = gen_random_uuid()",
            "INSERT INTO discreet.memory SELECT * FROM copy",
        ],
        ADDED,
    ),
    "one has another id": (
        [f"UPDATE discreet.memory SET entry_id = gen_random_uuid() WHERE {OF_ANN} AND text = 'Keeps parrots'"],
        OTHERS,
    ),
    "one became another person's": (
        ["UPDATE discreet.memory SET user_key = %(bob)s WHERE user_key = %(ann)s AND text = 'Keeps parrots'"],
        MISSING,
    ),
}


@pytest.mark.fast_cases(4)
@pytest.mark.one_server("changes rows by hand")
@pytest.mark.parametrize("how", TAMPERED)
async def test_rows_that_are_deleted_or_added_by_hand_are_found_and_stay_found(database, how):
    statements, problem = TAMPERED[how]
    async with opened(database) as storage:
        await have(storage)
        await have(storage, "bob")
        await have(storage, "cyd")
        assert await found(storage) == {}
        ann = storage.background.key_of("ann")
        with psycopg.connect(database, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement, {"ann": ann, "bob": storage.background.key_of("bob")})
        told = await found(storage)
        assert told[ann] == problem
        assert (len(told) > 1) == ("person" in how)
        await have(storage, texts=["Has a dog"])
        assert ann in await found(storage)


@pytest.mark.one_server("changes rows by hand")
async def test_a_former_count_is_found_beside_the_rows_of_today(database):
    async with opened(database) as storage:
        await have(storage)
        [before] = run(database, "SELECT memories, entries FROM discreet.user_memories")
        await storage.memories.delete("ann", (await storage.memories.latest("ann"))[0].entry_id)
        await have(storage, texts=["Has a dog"])
        assert await found(storage) == {}
        run(database, "UPDATE discreet.user_memories SET memories = %s, entries = %s", *before)
        assert list((await found(storage)).values()) == [OTHERS]


async def save(storage, user, at):
    await storage.memories.save(user, [MemoryRecord(text=f"{FACTS[at % 4]} {at}"), MemoryRecord(text="Tea")])


async def replace(storage, user, at):
    await storage.memories.save(user, [MemoryRecord(text="Likes tea", entry_id=UUID(int=at % 3))])


async def say(storage, user, at):
    await storage.memories.save(user, [MemoryRecord(text=f"Hello {at}", type="turn", thread_id="t", position=at % 4)])


async def delete(storage, user, at):
    for record in await storage.memories.latest(user, limit=1):
        await storage.memories.delete(user, record.entry_id)


async def delete_turns(storage, user, at):
    await storage.memories.delete_many(user, MemoryFilters(types=["turn"]))


async def forget(storage, user, at):
    await storage.memories.forget(user, "Tea", facts=True)


async def put(storage, user, at):
    await storage.store.aput((user,), f"{at % 2}", {"said": f"Parrot {at}", "more": "Tea"})


async def take_away(storage, user, at):
    await storage.store.adelete((user,), "0")


STEPS = st.lists(st.sampled_from([save, replace, say, delete, delete_turns, forget, put, take_away]), max_size=12)


async def test_whatever_is_done_the_count_is_right(database):
    drawn = []

    @settings(max_examples=5, database=None)
    @given(STEPS)
    def draw(steps):
        drawn.append(steps)

    draw()
    async with opened(database, Keyring([make_key()])) as storage:
        for number, steps in enumerate(drawn):
            for at, step in enumerate(steps):
                await step(storage, f"user {number}", at)
                assert await found(storage) == {}, [each.__name__ for each in steps[: at + 1]]


async def test_eviction_retention_and_erasure_keep_the_count(database):
    async with opened(database) as storage:
        await storage.memory_settings.change({"max_memories_per_user": 100, "retention_turn_days": 180}, by="u_admin")
        await have(storage, texts=[f"Fact number {n}" for n in range(130)])
        old = [
            MemoryRecord(text=f"Said {n}", type="turn", thread_id="t", position=n, created_at=NOW - timedelta(days=400))
            for n in range(5)
        ]
        await storage.memories.save("ann", old)
        await storage.store.aput(("notes",), "1", {"said": "parrot"}, ttl=1e-6)
        await have(storage, "bob")
        await storage.memories.save("bob", [MemoryRecord(text="Had a heart attack", type="important_moment")])
        assert (await storage.retention.sweep())["turns"] == 5
        assert await found(storage) == {}
        erasures = Erasures(storage)
        await erasures.erase("bob", Scope.recent())
        assert await found(storage) == {}
        await erasures.erase("ann", Scope.everything())
        assert await found(storage) == {}
        assert await storage.memories.latest("ann") == []


async def test_writers_at_once_and_a_verification_between_them_find_nothing(database):
    async with opened(database) as storage:
        done = asyncio.Event()

        async def write(user):
            for n in range(10):
                await have(storage, user, texts=[f"Fact {n}", f"Another {n}"])
                await storage.memories.delete_many(user, MemoryFilters(before=datetime.now(UTC) - timedelta(days=1)))

        async def look():
            while not done.is_set():
                assert await found(storage) == {}

        looking = asyncio.create_task(look())
        await asyncio.gather(*(write(f"user {n % 3}") for n in range(6)))
        done.set()
        await looking


def invoke(*arguments):
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.one_server("changes rows by hand")
async def test_the_commands_say_so_and_end_with_one(database, monkeypatch):
    key = make_key()
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(key))
    async with opened(database, Keyring([key])) as storage:
        await have(storage)
    code, told = await asyncio.to_thread(invoke, "audit", "verify", "--dsn", database)
    assert (code, told["sound"], told["memories"]["memories"]) == (0, True, 4)
    with psycopg.connect(database) as connection:
        connection.execute(DELETE, {"ann": connection.execute("SELECT user_key FROM discreet.users").fetchone()[0]})
    code, told = await asyncio.to_thread(invoke, "audit", "verify", "--dsn", database)
    assert (code, told["sound"], told["memories"]["found"]) == (1, False, 1)
    code, told = await asyncio.to_thread(invoke, "doctor", "--dsn", database)
    checks = {check["name"]: check["state"] for check in told["checks"]}
    assert (code, checks["counted memories"], checks["sealed rows"]) == (1, "fail", "ok")


GARBAGE = "\\x00"
OPENED = """
INSERT INTO discreet.erasure (erasure_key, user_key, scope, asked_at, lease_until, plan)
VALUES (gen_random_uuid(), %s, 'all', now(), now() + %s::interval, %s)
"""


class Stopping(Exception):
    """Raised in the midst of an erasure, as if its process ended."""


async def begin(storage, user, scope, *, place="database"):
    """Begin an erasure that ends in its midst: when memories went, of the user or of the store's items."""

    def progress(where, counts):
        if where == place and "memory" in counts:
            raise Stopping

    with pytest.raises(Stopping):
        await Erasures(storage).erase(user, scope, progress=progress)


async def looked_at(dsn):
    """Return what the two commands say of memories: the exit code and report of the first, the state and words of the second."""
    code, told = await asyncio.to_thread(invoke, "audit", "verify", "--dsn", dsn)
    _, checks = await asyncio.to_thread(invoke, "doctor", "--dsn", dsn)
    [check] = [check for check in checks["checks"] if check["name"] == "counted memories"]
    return code, told["memories"], check["state"], check["say"]


@pytest.mark.one_server("changes rows by hand")
@pytest.mark.parametrize("plan", [None, GARBAGE])
async def test_an_erasure_that_we_did_not_begin_excuses_nobody_and_is_a_finding(database, monkeypatch, plan):
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(key := make_key()))
    async with opened(database, Keyring([key])) as storage:
        await have(storage)
        await have(storage, "bob")
        ann, bob = map(storage.background.key_of, ("ann", "bob"))
        run(database, OPENED, bob, "100 years", plan)
        code, told, state, say = await looked_at(database)
        assert (code, told["found"], len(told["not_ours"]), state) == (1, 0, 1, "fail")
        assert told["not_ours"][0] in say
        with psycopg.connect(database) as connection:
            connection.execute(DELETE, {"ann": ann})
        run(database, OPENED, ann, "1 second", plan)
        code, told, state, _ = await looked_at(database)
        assert (code, told["found"], told["erasing"], len(told["not_ours"]), state) == (1, 1, [], 2, "fail")
        run(database, "UPDATE discreet.erasure SET lease_until = now() - interval '1 second'")
        assert await Erasures(storage).resume() == []
        await Erasures(storage).erase("bob", Scope.everything())


@pytest.mark.dialect
@pytest.mark.one_server("changes rows by hand")
async def test_whose_memories_an_open_erasure_deletes_is_named_and_nobody_else(database, monkeypatch):
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(key := make_key()))
    async with opened(database, Keyring([key])) as storage:
        for user in ("ann", "bob"):
            await have(storage, user)
            await storage.store.aput((user, "notes"), "1", {"said": "parrot"})
        ann, bob = map(storage.background.key_of, ("ann", "bob"))
        notes = str(storage.background.keys.of_namespace(path_of(("ann", "notes"))))
        await begin(storage, "ann", Scope.everything([("ann",)]), place="store")
        code, told, state, say = await looked_at(database)
        assert (code, told["found"], told["not_ours"], told["erasing"], state) == (1, 0, [], [notes], "warn")
        assert notes in say
        await begin(storage, "ann", Scope.everything())
        code, told, state, say = await looked_at(database)
        assert (code, told["found"], told["not_ours"], told["erasing"], state) == (1, 0, [], [str(ann)], "warn")
        assert str(ann) in say
        with psycopg.connect(database) as connection:
            connection.execute(DELETE, {"ann": bob})
        code, told, state, _ = await looked_at(database)
        assert (code, [each["user_key"] for each in told["findings"]], state) == (1, [str(bob)], "fail")
        assert str(ann) in told["erasing"]
        run(database, "UPDATE discreet.erasure SET lease_until = now() + interval '100 years'")
        _, told, *_ = await looked_at(database)
        assert len(told["not_ours"]) == 2, "nobody holds an erasure for so long"
        run(database, "UPDATE discreet.erasure SET user_key = %s", bob)
        _, told, *_ = await looked_at(database)
        assert told["erasing"] == [], "the plan is of another person"
        run(database, "UPDATE discreet.erasure SET user_key = %s, lease_until = now() - interval '1 second'", ann)
        assert len(await Erasures(storage).resume()) == 2
        _, told, *_ = await looked_at(database)
        assert (told["erasing"], told["not_ours"], [each["user_key"] for each in told["findings"]]) == (
            [],
            [],
            [str(bob)],
        )


@pytest.mark.one_server("changes rows by hand")
async def test_an_erasure_of_a_part_counts_what_it_deletes_and_excuses_nothing(database, monkeypatch):
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(key := make_key()))
    async with opened(database, Keyring([key])) as storage:
        await have(storage)
        await begin(storage, "ann", Scope.recent())
        _, told, state, _ = await looked_at(database)
        assert (told["found"], told["erasing"], state) == (0, [], "ok")
        await have(storage)
        with psycopg.connect(database) as connection:
            connection.execute(DELETE, {"ann": storage.background.key_of("ann")})
        code, told, state, _ = await looked_at(database)
        assert (code, told["found"], told["erasing"], state) == (1, 1, [], "fail")
