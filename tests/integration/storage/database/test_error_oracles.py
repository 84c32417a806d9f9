"""No error tells the application's role of rows that it doesn't see: neither with nobody named, nor with what is no name."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from testkit.roles import Logins, logins

from discreet.checkpoint import RedactingSaver
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.direct("the roles log in themselves")

KEY = uuid4()
NOBODY = UUID(int=0)
NO_NAMES = {
    "empty": "",
    "a word": "bob",
    "almost a key": str(KEY)[:-1] + "g",
    "an open brace": "{",
    "an empty array": "{}",
    "an array in one": f"{{{KEY.hex}}},{{{uuid4()},{uuid4()}}}",
    "two, one of them none": f"{uuid4()},x",
    "a quotation mark": '"',
    "no key": "NULL",
    "commas": ",,",
    "another language": "người dùng, пользователь, 用户",
    "long": "x" * 20_000,
}
"""What the parameters may hold that names nobody of those who are there, by what it is."""

READS = {
    "me": ("discreet.users", "user_key", None),
    "mine": ("discreet.memory", "user_key", "discreet_several"),
    "mine, the trail": ("discreet.audit_entry", "user_key", None),
    "named_thread": ("checkpoint_threads", "thread_id", None),
    "named_thread, checkpoints": ("checkpoints", "thread_id", None),
}
"""A table, its column and a role that reads it, by the function that its policy asks."""


@pytest.fixture(scope="module")
def lived(make_database: Any, migrated_template: str) -> Iterator[Logins]:
    with make_database(template=migrated_template) as dsn:
        asyncio.run(migrate_checkpoints(dsn))
        named = logins(dsn)
        asyncio.run(_live(named.app))
        yield named


async def _live(dsn: str) -> None:
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=64), maintained=False) as storage:
        await storage.memories.save("bob", [MemoryRecord(text="Keeps a tortoise", thread_id="bobs-thread")])
        at = datetime.now(UTC)
        said = {"request_id": "bobs", "user_id": "bob", "thread_id": "bobs-thread", "input_text": "hello"}
        await storage.log.append(TurnRecord(output_text="hello", started_at=at, ended_at=at, **said))  # type: ignore[arg-type]
        await storage.delegations.grant("bob", "carl", by="bob")  # and an entry of the trail
        made = empty_checkpoint()
        made["channel_values"] = {"messages": [{"role": "user", "content": "hello"}]}
        made["channel_versions"] = {"messages": "1"}
        thread: Any = {"configurable": {"thread_id": "bobs-thread", "checkpoint_ns": "", "user_id": "bob"}}
        await RedactingSaver.from_pool(storage.pool).aput(
            thread, made, {"source": "input", "step": -1, "parents": {}}, {"messages": "1"}
        )


def _tried(conn: psycopg.Connection[Any], statement: Any, params: Any = None) -> object:
    """Return what a statement answers: its rows, or its error's code."""
    try:
        with conn.transaction():
            cursor = conn.execute(statement, params)
            return cursor.fetchall() if cursor.description else cursor.rowcount
    except psycopg.Error as error:
        return error.sqlstate


def _as_app(dsn: str, role: str | None = None, *, by_index: bool = False) -> psycopg.Connection[Any]:
    conn = psycopg.connect(dsn)
    conn.execute("SET search_path = discreet, public")
    for kind in ("indexscan", "indexonlyscan", "bitmapscan"):
        conn.execute(f"SET enable_{kind} = {'on' if by_index else 'off'}")  # type: ignore[call-overload]  # of this test
    if role:
        conn.execute("SELECT set_config('role', %s, true)", (role,))
    return conn


def _named(conn: psycopg.Connection[Any], value: str) -> None:
    for name in ("discreet.user_key", "discreet.thread"):
        conn.execute("SELECT set_config(%s, %s, true)", (name, value))


def _ranges(column: str) -> dict[str, str]:
    """Return a condition that only rows of others fulfil, and one that none does."""
    if column == "thread_id":
        return {
            "somebody": "thread_id BETWEEN 'bobs-' AND 'bobs-z'",
            "nobody": "thread_id BETWEEN 'xobs-' AND 'xobs-z'",
        }
    return {
        "somebody": f"user_key BETWEEN '{UUID(int=1)}' AND '{UUID(int=2**128 - 1)}'",
        "nobody": f"user_key BETWEEN '{UUID(int=1)}' AND '{UUID(int=2)}'",
    }


def _rows(dsn: str, table: str, condition: str) -> int:
    with psycopg.connect(dsn) as conn:
        conn.execute("SET search_path = discreet, public")
        [(count,)] = conn.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchall()  # type: ignore[call-overload]  # of this test
        return int(count)


@pytest.mark.dialect
@pytest.mark.parametrize("read", READS)
def test_a_name_taken_away_tells_of_nobodys_rows(lived, read):
    """A condition of the caller's own is looked at before the policy where no index is used, and names are looked up row by row."""
    table, column, role = READS[read]
    conditions = _ranges(column)
    assert [_rows(lived.owner, table, condition) > 0 for condition in conditions.values()] == [True, False]
    for no_name, by_index in itertools.product(NO_NAMES.values(), (False, True)):
        with closing(_as_app(lived.app, role, by_index=by_index)) as conn:
            _named(conn, str(uuid4()))
            for whose, condition in conditions.items():
                conn.execute(f"DECLARE {whose} CURSOR FOR SELECT 1 FROM {table} WHERE {condition}")  # type: ignore[call-overload]  # as above
            _named(conn, no_name)
            assert [_tried(conn, f"FETCH ALL {whose}") for whose in conditions] == [[], []]


@pytest.mark.dialect
@pytest.mark.parametrize("read", READS)
def test_a_prepared_plan_tells_of_nobodys_rows(lived, read):
    table, column, role = READS[read]
    told = set()
    with closing(_as_app(lived.app, role)) as conn:
        conn.execute("SET plan_cache_mode = force_generic_plan")
        kind = "text" if column == "thread_id" else "uuid"
        conn.execute(
            f"PREPARE p ({kind}, {kind}) AS SELECT 1 FROM {table} WHERE {column} >= $1 AND {column} <= $2"  # type: ignore[call-overload]  # as above
        )
        ends = ("a", "z") if kind == "text" else (NOBODY, UUID(int=2**128 - 1))
        for value, (first, last) in itertools.product(("", "x", "{"), (ends, (ends[0], ends[0]))):
            _named(conn, value)
            told.add(str(_tried(conn, f"EXECUTE p ('{first}', '{last}')")))
    assert told == {"[]"}


@pytest.mark.dialect
def test_nobody_is_written_for_without_a_name(lived):
    with psycopg.connect(lived.owner) as conn:
        [(bob,)] = conn.execute("SELECT user_key FROM discreet.users WHERE user_key <> %s", (NOBODY,)).fetchall()
    with closing(_as_app(lived.app)) as conn:
        for no_name, key in itertools.product(NO_NAMES.values(), (bob, KEY, NOBODY)):
            _named(conn, no_name)
            assert _tried(conn, "INSERT INTO discreet.users (user_key) VALUES (%s)", (key,)) == "42501"
            for thread in ("bobs-thread", "anns-thread"):
                statement = "INSERT INTO checkpoint_threads (thread_id, user_key) VALUES (%s, %s)"
                assert _tried(conn, statement, (thread, key)) == "42501"
            assert _tried(conn, "DELETE FROM discreet.memory") == 0
            assert _tried(conn, "UPDATE discreet.memory SET importance = 1") == 0


@pytest.mark.dialect
def test_names_that_are_none_do_not_raise_by_themselves(lived):
    with closing(_as_app(lived.app)) as conn:
        for value in (*NO_NAMES.values(), "a," * 9_000_000):
            _named(conn, value)
            [(me, mine, thread)] = conn.execute(
                "SELECT discreet.me(), discreet.mine(), discreet.named_thread()"
            ).fetchall()
            assert (me, thread) == (None, value or None)
            assert not {each for each in mine or () if isinstance(each, UUID)}


def test_the_policies_call_no_function_of_their_own(lived):
    """What is written into the statement takes no depth of the stack, which a caller could have used up before."""
    with closing(_as_app(lived.app)) as conn:
        plan = "\n".join(
            line for (line,) in conn.execute("EXPLAIN (VERBOSE, COSTS OFF) SELECT 1 FROM discreet.users").fetchall()
        )
    assert "discreet.me()" not in plan
    assert "current_setting" in plan
