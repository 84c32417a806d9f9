"""What the application's role sees of others by itself, without our statements: nobody's rows, and nobody's key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing, nullcontext
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from testkit import pooler
from testkit.keys import USER_KEYS
from testkit.roles import Logins, logins

from discreet.access.actor import Actor, acting
from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.errors import StorageError
from discreet.rights.erasure import Erasures, Scope
from discreet.settings import Settings
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import Storage, open_storage
from discreet.storage.store.namespaces import path_of
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.direct("the roles log in themselves; savers behind PgBouncer have a test of their own")

META: Any = {"source": "input", "step": -1, "parents": {}}
NAMESPACE = ("notes", "of-bob")
ANN = USER_KEYS.of_user("ann")
THREADS = ("bobs-thread", "bobs-deleted-thread", "stock-thread")
TABLES = (
    "checkpoints",
    "checkpoint_blobs",
    "checkpoint_writes",
    "checkpoint_messages",
    "checkpoint_threads",
    "checkpoint_spill",
)


def config(thread_id: str, **more: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", "run_id": "bobs-run", **more}}


def checkpoint(text: str = "tortoise") -> Any:
    made = empty_checkpoint()
    made["channel_values"] = {"said": [text]}
    made["channel_versions"] = {"said": "1"}
    return made


@pytest.fixture
def roles(database: str, monkeypatch: pytest.MonkeyPatch) -> Logins:
    asyncio.run(migrate_checkpoints(database))
    named = logins(database)
    named.name_them(monkeypatch)
    return named


@asynccontextmanager
async def opened(dsn: str) -> AsyncIterator[Storage]:
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=64), maintained=False) as storage:
        yield storage


async def live(storage: Storage) -> None:
    """Have bob do everything that leaves his key somewhere, and somebody read his things."""
    said = {"request_id": "bobs-request", "user_id": "bob", "thread_id": "bobs-thread", "input_text": "hello"}
    at = datetime.now(UTC)
    await storage.memories.save("bob", [MemoryRecord(text="Keeps a tortoise", thread_id="bobs-thread")])
    await storage.log.append(TurnRecord(output_text="hello", started_at=at, ended_at=at, **said))  # type: ignore[arg-type]
    await storage.short_term.touch("bob", "bobs-thread")
    await storage.store.aput(NAMESPACE, "one", {"text": "about a tortoise"})
    await storage.delegations.grant("bob", "carl", by="bob")
    with acting(Actor(kind="admin", identity="bob")):
        await storage.memories.latest("ann", limit=5)
        await storage.audit.record("setting.change", user_key=None, data="setting")
    saver = RedactingSaver.from_pool(storage.pool)
    for thread_id in THREADS[:2]:
        await saver.aput(config(thread_id, user_id="bob"), checkpoint(), META, {"said": "1"})
    await saver.adelete_thread("bobs-deleted-thread")
    await Erasures(storage, settings=Settings(reembed=False)).erase(
        "bob", Scope(name="thread", thread_id="bobs-other-thread")
    )


@pytest.fixture
def lived(roles: Logins) -> Logins:
    async def fill() -> None:
        async with opened(roles.app) as storage:
            await storage.memories.save("ann", [MemoryRecord(text="Keeps a parrot")])
            await live(storage)

    asyncio.run(fill())
    with PostgresSaver.from_conn_string(roles.owner) as stock:
        stock.put(config("stock-thread"), checkpoint(), META, {"said": "1"})
        stock.put_writes(config("stock-thread", checkpoint_id=checkpoint()["id"]), [("said", "x")], "task")
    return roles


def as_app(dsn: str, *, user_key: UUID | None = ANN, thread: str | None = None, role: str | None = None) -> Any:
    """Return a connection as the application's role, in a transaction that names these."""
    conn = psycopg.connect(dsn)
    conn.execute("SET search_path = discreet, public")
    for name, value in (("discreet.user_key", user_key), ("discreet.thread", thread), ("role", role)):
        if value is not None:
            conn.execute("SELECT set_config(%s, %s, true)", (name, str(value)))
    return closing(conn)


def tried(conn: psycopg.Connection[Any], statement: Any, params: Any = None) -> list[Any] | None:
    """Return the rows of a statement; None if this role may not have them."""
    try:
        with conn.transaction():
            return conn.execute(statement, params).fetchall()
    except psycopg.Error:
        return None


# Rows of nobody.


@pytest.mark.dialect
def test_rows_without_an_owner_are_nobodys_to_read_or_delete(lived):
    with as_app(lived.app, thread="of-ann") as conn:
        assert tried(conn, "SELECT * FROM checkpoint_threads") is None
        for table in TABLES:
            assert tried(conn, f"SELECT thread_id FROM {table}") == []
            assert conn.execute(f"DELETE FROM {table}").rowcount == 0
            assert tried(conn, f"UPDATE {table} SET thread_id = 'of-ann' RETURNING 1") == []


def test_a_transaction_that_names_no_thread_sees_none(lived):
    for user_key in (ANN, UUID(int=0)):
        with as_app(lived.app, user_key=user_key) as conn:
            for table in TABLES:
                assert tried(conn, f"SELECT thread_id FROM {table}") == []
                assert conn.execute(f"DELETE FROM {table}").rowcount == 0


async def test_a_saver_that_names_no_thread_is_refused(lived):
    async with RedactingSaver.from_conn_string(lived.app) as saver:
        with pytest.raises(StorageError, match="names no thread"):
            [item async for item in saver.alist(None)]


def test_who_names_a_thread_reads_that_thread_and_no_memory_of_its_owner(lived):
    with as_app(lived.app, thread="bobs-thread", user_key=None) as conn:
        assert tried(conn, "SELECT DISTINCT thread_id FROM checkpoints") == [("bobs-thread",)]
        assert tried(conn, "SELECT * FROM discreet.memory") == []
    with as_app(lived.app, thread="stock-thread") as conn:
        assert tried(conn, "SELECT DISTINCT thread_id FROM checkpoints") == [("stock-thread",)]


@pytest.mark.parametrize("place", [nullcontext, pooler.pooled], ids=["direct", "pooled"])
def test_savers_of_both_faces_go_on_with_a_thread_of_another_saver(lived, place):
    thread = config("stock-thread", user_id="ann")

    async def use(dsn: str) -> None:
        async with RedactingSaver.from_conn_string(dsn) as saver:
            found = await saver.aget_tuple(thread)
            assert found is not None
            assert [item.checkpoint["id"] async for item in saver.alist(thread)] == [found.checkpoint["id"]]
            await saver.aput(
                found.config | {"configurable": found.config["configurable"] | {"user_id": "ann"}},
                checkpoint(),
                META,
                {"said": "1"},
            )
            await saver.acopy_thread("stock-thread", "its-copy")
            await saver.aprune(["stock-thread", "its-copy"])
            with pytest.raises(StorageError):
                [item async for item in saver.alist(None)]
            await saver.adelete_for_runs(["bobs-run"])

    def use_blocking(dsn: str) -> None:
        with RedactingSyncSaver.from_conn_string(dsn) as saver:
            saver.put(config("stock-thread"), checkpoint(), META, {"said": "1"})
            assert saver.get_tuple(config("stock-thread")) is not None
            saver.delete_thread("stock-thread")
            assert saver.get_tuple(config("stock-thread")) is None

    with place(lived.app) as dsn:
        asyncio.run(use(dsn))
        with psycopg.connect(lived.owner) as conn:
            assert (
                conn.execute("SELECT thread_id FROM checkpoints WHERE metadata ->> 'run_id' = 'bobs-run'").fetchall()
                == []
            )
        use_blocking(dsn)
    with psycopg.connect(lived.owner) as conn:
        owners = dict(conn.execute("SELECT thread_id, user_key FROM checkpoint_threads").fetchall())
    assert owners["its-copy"] == ANN


# Entries of the audit trail about nobody.


@pytest.mark.dialect
def test_entries_about_nobody_are_added_and_read_by_nobody(lived):
    nobody = str(UUID(int=0))
    with psycopg.connect(lived.owner) as conn:
        count = "SELECT count(*) FROM discreet.audit_entry WHERE user_key = %s"
        assert conn.execute(count, (nobody,)).fetchone() == (1,)
    for role in (None, "discreet_several"):
        for user_key in (ANN, UUID(int=0)):
            with as_app(lived.app, user_key=user_key, role=role) as conn:
                assert not tried(conn, count, (nobody,)) or tried(conn, count, (nobody,)) == [(0,)]
                assert tried(conn, "DELETE FROM discreet.audit_entry RETURNING 1") is None


# Keys of others.

ARGUMENTS: dict[str, Iterable[Any]] = {
    "text": ("", *THREADS, "bobs-run", "\U0010ffff"),
    "text[]": ([*THREADS, "bobs-run"],),
    "uuid": (ANN, uuid4()),
    "timestamp with time zone": ("-infinity",),
    "bigint": (1_000_000,),
}
"""What functions are called with, by type."""


def forms(key: UUID) -> set[str]:
    return {str(key), key.hex}


def bobs_keys() -> set[str]:
    keys = [
        USER_KEYS.of_user("bob"),
        USER_KEYS.of_user("carl"),
        USER_KEYS.of_namespace(path_of(NAMESPACE)),
        *map(USER_KEYS.of_thread, (*THREADS, "bobs-other-thread")),
    ]
    return set().union(*map(forms, keys))


def relations(conn: psycopg.Connection[Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield all relations there are, with the columns that this role may read."""
    yield from conn.execute("""
        SELECT format('%I.%I', n.nspname, c.relname), array_agg(quote_ident(a.attname) ORDER BY a.attnum)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND a.attnum > 0 AND NOT a.attisdropped
          AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
        GROUP BY 1
    """).fetchall()  # type: ignore[misc]


def calls(conn: psycopg.Connection[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield a call of each of our functions that this role may call, for each of the arguments that there are."""
    found = conn.execute("""
        SELECT format('%I.%I', n.nspname, p.proname), ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname IN ('discreet', 'public') AND has_function_privilege(p.oid, 'EXECUTE')
          AND p.prorettype <> 'trigger'::regtype
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    """).fetchall()
    for name, types in found:
        assert set(types) <= set(ARGUMENTS), f"tell this test what {name} is called with"
        given: list[list[Any]] = [[]]
        for type_ in types:
            given = [[*before, value] for before in given for value in ARGUMENTS[type_]]
        for values in given:
            yield f"{name}({', '.join(['%s'] * len(values))})", values


def told(conn: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    """Yield all that this role is told, by whatever it reads or calls, with where it is from."""
    for name, columns in list(relations(conn)):
        said = "concat_ws(' ', {})".format(", ".join(f"{column}::text" for column in columns))
        for (row,) in tried(conn, f"SELECT {said} FROM {name} t") or ():
            yield name, row
    for call, values in list(calls(conn)):
        for row in tried(conn, f"SELECT t::text, {SETTINGS} FROM {call} t", values) or ():
            yield call, str(row)


SETTINGS = "current_setting('discreet.user_key', true)"


@pytest.mark.dialect
def test_nothing_that_the_application_reads_or_calls_tells_the_key_of_another(lived):
    keys = bobs_keys()
    with as_app(lived.owner) as conn:
        assert {where for where, said in told(conn) if keys & set(_words(said))}  # or nothing was planted
    for thread, role in ((None, None), ("bobs-thread", None), ("stock-thread", None), (None, "discreet_several")):
        with as_app(lived.app, thread=thread, role=role) as conn:
            everything = list(told(conn))
        assert {where for where, said in everything if any(key in said.lower() for key in keys)} == set()
        assert len({where for where, _ in everything}) > 60


def _words(said: str) -> list[str]:
    return said.replace("(", " ").replace(")", " ").replace(",", " ").split()


def estimates(conn: psycopg.Connection[Any], column: str, table: str, values: Iterable[str]) -> set[float]:
    """Return how many rows the planner expects before each of these values."""
    plans = [
        conn.execute(f"EXPLAIN (FORMAT JSON) SELECT FROM {table} WHERE {column} < %s", (value,)).fetchone()
        for value in values
    ]
    return {plan[0][0]["Plan"]["Plan Rows"] for plan in plans if plan is not None}


@pytest.mark.dialect
def test_no_plan_tells_a_key_or_a_thread_of_another(lived):
    """What the planner knows of a column it tells whoever may read one row of it."""
    with psycopg.connect(lived.owner, autocommit=True) as conn:
        conn.execute("SET search_path = discreet, public")
        conn.execute("ANALYZE")
    keys = [str(key) for key in (UUID(int=0), USER_KEYS.of_user("bob"), UUID(int=2**128 - 1))]
    with as_app(lived.app, thread="of-ann") as conn:
        readable = dict(relations(conn))
        columns = {
            (table, name)
            for table in readable
            if table.startswith(("discreet.", "public."))
            for name in ("user_key", "thread_id", "delegate_key")
            if name in readable[table]
        }
        assert len(columns) > 20
        for table, column in columns:
            values = ("", *THREADS, "~") if column == "thread_id" else keys
            assert len(estimates(conn, column, table, values)) == 1, (table, column)


async def test_labels_are_listed_whole_and_found_by_who_knows_them(lived):
    async with opened(lived.app) as storage:
        await storage.store.aput(("notes", "of-ann"), "two", {"text": "about a parrot"})
        assert await storage.store.alist_namespaces(prefix=("notes",)) == [("notes", "of-ann"), NAMESPACE]
        assert {item.key for item in await storage.store.asearch(("notes",))} == {"one", "two"}
        assert {item.key for item in await storage.store.asearch(("notes",), query="about a tortoise")} == {
            "one",
            "two",
        }
        assert [item.key for item in await storage.store.asearch(NAMESPACE, query="about a tortoise")] == ["one"]


async def test_threads_of_a_user_are_listed_for_them_alone(lived):
    async with opened(lived.app) as storage:
        key_of = storage.background.key_of
        assert await storage.threads.threads(key_of("bob"), limit=10) == ["bobs-thread"]
        assert await storage.threads.threads(key_of("bob"), after="bobs-thread", limit=10) == []
        assert await storage.threads.threads(key_of("ann"), limit=10) == []


def test_functions_do_the_same_with_rights_as_without(database):
    """A migration makes those that all roles call; `discreet roles` gives them rights, and no other text."""
    text = "SELECT proname, prosrc FROM pg_proc WHERE proname IN ('store_paths', 'erasures_since') ORDER BY 1"
    with psycopg.connect(database) as conn:
        before = [(name, " ".join(source.replace('"', "").split())) for name, source in conn.execute(text)]
    logins(database)
    with psycopg.connect(database) as conn:
        assert [(name, " ".join(source.replace('"', "").split())) for name, source in conn.execute(text)] == before
    assert len(before) == 2
