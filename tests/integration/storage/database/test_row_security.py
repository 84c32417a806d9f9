"""The database itself keeps users apart: a program that forgets to ask for one user's rows gets no other's."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from testkit.citus import CITUS_DSN
from testkit.roles import Logins, logins
from typer.testing import CliRunner

from discreet.access.actor import read_as_delegate
from discreet.access.user_keys import default_user_keys
from discreet.checkpoint import RedactingSaver
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.cli import app as commands
from discreet.errors import MigrationError, StorageError
from discreet.ports import MemoryQuery, Round
from discreet.shown_keys import shown_key
from discreet.state.records import MemoryFilters, MemoryRecord, TurnRecord
from discreet.storage import Storage, open_storage
from discreet.storage.database.connecting import connection
from discreet.storage.database.connecting.target import target_of
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.database.roles import apply_roles
from discreet.storage.database.roles.policies import SHARED
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.direct("the roles log in themselves; a schema of another name has a test of its own")

DIMS = 64

_FILTER = re.compile(r"\b(?:\w+\.)?user_key = (?:%\((user_key)\)s|ANY \(%\((user_keys)\)s(?:::uuid\[\])?\))")
"""Where a statement says whose rows it is about."""


@pytest.fixture
def roles(database: str, monkeypatch: pytest.MonkeyPatch) -> Logins:
    """Return the roles of a database with all tables, as the settings name them."""
    asyncio.run(migrate_checkpoints(database))
    named = logins(database)
    named.name_them(monkeypatch)
    return named


@asynccontextmanager
async def opened(dsn: str) -> AsyncIterator[Storage]:
    async with open_storage(dsn, embeddings=StubEmbeddings(dims=DIMS)) as storage:
        yield storage


class Forgetful:
    """Leaves out of every statement whose rows it is about, while it is on."""

    def __init__(self) -> None:
        self.on = True
        self.left_out: set[str] = set()
        """Statements of which something was."""


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Forgetful:
    said, found = connection._said, Forgetful()  # the one place that all statements pass

    def without_filters(cursor: Any, query: Any) -> Any:
        statement = said(cursor, query)
        if not found.on or not isinstance(statement, str) or "user_key" not in statement:
            return statement
        left = _FILTER.sub(lambda match: _always(match[1] or match[2]), statement)
        if left != statement:
            found.left_out.add(statement)
        return left

    monkeypatch.setattr(connection, "_said", without_filters)
    return found


def _always(name: str) -> str:
    """Return a condition that holds, and takes the parameter all the same."""
    return f"(%({name})s::uuid{'[]' if name == 'user_keys' else ''} IS NOT NULL)"


async def remember(storage: Storage, user: str, word: str) -> None:
    """Store something of each kind for a user."""
    records = [
        MemoryRecord(text=f"Keeps a {word} at home", thread_id=f"thread-{user}", position=1),
        MemoryRecord(text=f"Reads about {word}", type="preference"),
    ]
    await storage.memories.save(user, records)
    await storage.store.aput(("notes", f"of-{user}"), "one", {"text": f"about {word}"})
    await storage.short_term.touch(user, f"thread-{user}")
    said = Round(request_id=f"request-{user}", input_text=word, output_text=word, said_at=datetime.now(UTC))
    await storage.short_term.append_round(user, f"thread-{user}", said)
    turn = TurnRecord(
        request_id=f"request-{user}",
        user_id=user,
        thread_id=f"thread-{user}",
        input_text=word,
        output_text=word,
        started_at=said.said_at,
        ended_at=said.said_at,
    )
    await storage.log.append(turn)


def rows_of(dsn: str) -> dict[str, set[str]]:
    """Return all rows of tables with a user_key, by table, as the server writes them."""
    with psycopg.connect(dsn) as conn:
        tables = conn.execute(
            "SELECT table_schema || '.' || table_name FROM information_schema.columns WHERE column_name = 'user_key'"
            " AND table_schema NOT LIKE 'pg_%' AND (table_schema, table_name) NOT IN"
            " (SELECT table_schema, table_name FROM information_schema.views)"
        ).fetchall()
        return {
            name: {row[0] for row in conn.execute(f"SELECT t::text FROM {name} t")}  # type: ignore[call-overload]  # of the catalogue
            for (name,) in tables
        }


def others(rows: dict[str, set[str]], user_key: str) -> dict[str, set[str]]:
    return {table: {row for row in found if user_key not in row} for table, found in rows.items()}


def key_of(storage: Storage, user: str) -> str:
    return str(storage.background.key_of(user))


@pytest.mark.dialect
@pytest.mark.one_server("what names no user is no statement that it can send to one node")
async def test_without_any_filter_nothing_of_another_is_read_changed_or_deleted(roles, forgetful):
    async with opened(roles.app) as storage:
        await remember(storage, "ann", "parrot")
        await remember(storage, "bob", "tortoise")
        await storage.memories.close()
        before, ann = rows_of(roles.owner), key_of(storage, "ann")
        found = await storage.memories.search("ann", "tortoise parrot", limit=50, threshold=0.0)
        asked = MemoryQuery(query="tortoise parrot", limit=50, threshold=0.0)
        opened_turn = await storage.memories.open_turn(
            "ann", "thread-ann", asked, short_term=storage.short_term, summaries=storage.summaries
        )
        found += opened_turn.found
        listed = await storage.memories.latest("ann", limit=50)
        item = await storage.store.aget(("notes", "of-ann"), "one")
        rounds = await storage.short_term.recent_rounds("ann", "thread-ann", limit=50)
        said = " ".join(
            [*(hit.record.text for hit in found), *(record.text for record in listed), str(item), str(rounds)]
        )
        assert "parrot" in said
        assert "tortoise" not in said
        await storage.memories.add_feedback("ann", listed[0].entry_id, {"rating": 1})
        await storage.short_term.forget("ann")
        assert await storage.memories.delete_many("ann", MemoryFilters()) == 2
        await storage.memories.save("ann", [MemoryRecord(text="Keeps a cat now")])
        await storage.memories.close()
        namespace = str(storage.store._runner.rules.keys.of_namespace("\x1fnotes\x1fof-ann\x1f"))  # its key
        left_before = others(others(before, ann), namespace)
        left = others(others(rows_of(roles.owner), ann), namespace)
        assert {table: left_before[table] - left[table] for table in left_before} == {
            table: set() for table in left_before
        }
    assert len(forgetful.left_out) > 15  # or nothing was tried


@pytest.mark.slow
@pytest.mark.one_server("what names no user is no statement that it can send to one node")
async def test_the_same_program_reads_everybodys_where_the_database_lets_it(roles, forgetful, monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", roles.worker)
    async with opened(roles.worker) as storage:
        forgetful.on = False
        await remember(storage, "ann", "parrot")
        await remember(storage, "bob", "tortoise")
        forgetful.on = True
        assert "tortoise" in " ".join(record.text for record in await storage.memories.latest("ann", limit=50))


@pytest.mark.slow
@pytest.mark.dialect
@pytest.mark.parametrize("named", [None, ""])
@pytest.mark.parametrize("statement", ["SELECT count(*) FROM discreet.memory", "DELETE FROM discreet.users"])
async def test_nobody_named_is_an_error(roles, named, statement):
    async with opened(roles.app) as storage:
        await remember(storage, "ann", "parrot")
        async with storage.pool.connection() as conn, conn.transaction():
            if named is not None:
                await conn.execute("SELECT set_config('discreet.user_key', %s, true)", (named,))
            with pytest.raises(StorageError, match="names no user"):
                await conn.execute(statement)


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_row_cannot_be_written_for_another(roles):
    async with opened(roles.app) as storage:
        await remember(storage, "ann", "parrot")
        bob = key_of(storage, "bob")
        async with storage.pool.connection() as conn:
            for statement in (
                "INSERT INTO discreet.users (user_key) SELECT %(bob)s WHERE %(user_key)s::uuid IS NOT NULL",
                "UPDATE discreet.memory SET user_key = %(bob)s WHERE user_key = %(user_key)s",
            ):
                with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):
                    await conn.execute(statement, {"bob": bob, "user_key": key_of(storage, "ann")})


STEPS = ("save", "search", "put", "round", "transaction")


@pytest.mark.fast_cases(2)
@pytest.mark.dialect
@pytest.mark.parametrize("seed", range(5))
def test_a_connection_carries_nobody_over(fuzzed, seed):
    drawn = Random(seed)
    steps = [(drawn.choice("abcd"), drawn.choice(STEPS)) for _ in range(60)]
    storage, run = fuzzed

    async def one(user: str, what: str) -> None:
        if what == "save":
            await storage.memories.save(user, [MemoryRecord(text=f"Keeps a {uuid4().hex} of {user}")], dedup=False)
        elif what == "search":
            assert all(
                f"of {user}" in hit.record.text for hit in await storage.memories.search(user, "Keeps", threshold=0.0)
            )
        elif what == "put":
            await storage.store.aput(("notes", user), uuid4().hex, {"text": "x"})
        elif what == "round":
            await storage.short_term.touch(user, "thread")
        else:
            user_key = storage.background.key_of(user)
            async with storage.pool.connection() as conn, conn.transaction():
                rows = await conn.execute(
                    "SELECT user_key FROM discreet.memory, (SELECT %(user_key)s) k", {"user_key": user_key}
                )
                assert {row["user_key"] for row in await rows.fetchall()} <= {user_key}

    async def all_at_once() -> None:
        await asyncio.gather(*(one(user, what) for user, what in steps))
        for _ in range(6):
            async with storage.pool.connection() as conn:
                row = await (
                    await conn.execute(
                        "SELECT current_setting('discreet.user_key', true) AS named, current_user AS is_"
                    )
                ).fetchone()
                assert row in ({"named": "", "is_": conn.info.user}, {"named": None, "is_": conn.info.user})

    run(all_at_once())


@pytest.fixture(params=["direct", "pooled"])
def fuzzed(
    request: pytest.FixtureRequest, database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Storage, Callable[[Any], Any]]]:
    from testkit import pooler

    named = logins(database)
    with (
        asyncio.Runner() as runner,
        pooler.pooled(named.app) if request.param == "pooled" else nullcontext(named.app) as app,
    ):
        Logins(named.owner, app, named.worker, "", "", "").name_them(monkeypatch)
        context = opened(app)
        storage = runner.run(context.__aenter__())
        yield storage, runner.run
        runner.run(context.__aexit__(None, None, None))


@pytest.mark.slow
def test_every_table_of_users_forces_it_and_the_application_has_no_rights_but_those_listed(roles):
    with psycopg.connect(roles.owner) as conn:
        rows = conn.execute(
            """
            SELECT n.nspname, c.relname, c.relforcerowsecurity AND c.relrowsecurity,
                EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'user_key' AND NOT attisdropped)
                    OR c.relname LIKE 'checkpoint%' AND c.relname <> 'checkpoint_migrations',
                has_table_privilege('discreet_app', c.oid, 'SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER'),
                has_table_privilege('discreet_app', c.oid, 'TRUNCATE,REFERENCES,TRIGGER')
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' AND n.nspname IN ('discreet', 'public')
            """
        ).fetchall()
    assert len(rows) > 25
    for schema, table, forced, of_users, may, may_more in rows:
        assert forced == of_users, (schema, table)
        assert not may_more, (schema, table)
        if may and not of_users:
            assert table in SHARED, (schema, table)


@pytest.mark.slow
@pytest.mark.dialect
async def test_the_application_owns_nothing_and_starts_all_the_same(roles):
    async with opened(roles.app) as storage:
        await remember(storage, "ann", "parrot")
        async with storage.pool.connection() as conn:
            for statement in (
                "CREATE TABLE discreet.mine (x int)",
                "ALTER TABLE discreet.memory DISABLE ROW LEVEL SECURITY",
                "DROP POLICY app ON discreet.memory",
                "SET ROLE discreet_worker",
                "UPDATE discreet.setting_change SET name = 'x'",
            ):
                with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.RestrictViolation)):
                    await conn.execute(statement)


@pytest.mark.slow
@pytest.mark.dialect
async def test_whose_a_thread_is_is_known_whoever_asks(roles):
    thread_id = str(uuid4())
    thread = {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", "user_id": "ann"}}
    async with opened(roles.app) as storage:
        assert await storage.threads.owner(thread_id) is None
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.aput(thread, empty_checkpoint(), {"source": "input", "step": -1, "parents": {}}, {})
        assert await storage.threads.owner(thread_id) == shown_key(default_user_keys().of_user("ann"))
        await saver.adelete_thread(thread_id)
        assert await storage.threads.owner(thread_id) is None


@pytest.mark.slow
async def test_without_a_worker_a_process_serves_users_and_leaves_the_rest(roles, monkeypatch):
    monkeypatch.delenv("DISCREET_POSTGRES_WORKER_DSN")
    monkeypatch.delenv("DISCREET_POSTGRES_OWNER_DSN")
    async with opened(roles.app) as storage:
        await remember(storage, "ann", "parrot")
        assert await storage.memories.search("ann", "parrot")
        with pytest.raises(StorageError):
            await storage.background.sessions.pending(limit=5)


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_delegate_reads_as_long_as_the_grant_holds_and_writes_nothing(roles):
    async with opened(roles.app) as storage:
        await remember(storage, "ann", "parrot")
        await storage.delegations.grant("ann", "carl", by="ann")
        carl = await storage.delegations.may_read("carl", "ann")

        async def as_carl(work: Callable[[], Any]) -> Any:
            read_as_delegate(carl)
            return await work()

        read = asyncio.create_task(as_carl(lambda: storage.memories.latest("ann", limit=5)))
        assert "parrot" in " ".join(record.text for record in await read)
        with pytest.raises(StorageError):
            await asyncio.create_task(as_carl(lambda: storage.memories.delete_many("ann", MemoryFilters())))
        await storage.delegations.revoke("ann", "carl")
        with pytest.raises(StorageError):
            await asyncio.create_task(as_carl(lambda: storage.memories.latest("ann", limit=5)))
        with pytest.raises(StorageError):
            await asyncio.create_task(as_carl(lambda: storage.memories.latest("bob", limit=5)))
        assert len(await storage.memories.latest("ann", limit=5)) == 2


@pytest.mark.slow
@pytest.mark.one_server("on a cluster a view has its owner's rights on the coordinator alone")
def test_an_analyst_sees_counts_of_five_users_at_least(roles, monkeypatch):
    async def fill() -> None:
        async with opened(roles.app) as storage:
            for user in ("ann", "bob", "cid", "dan", "eve"):
                await storage.memories.save(user, [MemoryRecord(text=f"Keeps a parrot of {user}")])
            await storage.memories.save("ann", [MemoryRecord(text="Likes tea", type="preference")])

    asyncio.run(fill())
    with psycopg.connect(roles.analyst, autocommit=True) as conn:
        rows = conn.execute("SELECT type, memories, users FROM discreet.analysis_memories").fetchall()
        assert rows == [("user_fact", 5, 5)]  # and not the one preference
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("SELECT text FROM discreet.memory")


STEPS_OF = {"memories": 5, "users": 5, "importance": 2, "characters": 100}


@pytest.mark.slow
@pytest.mark.one_server("on a cluster a view has its owner's rights on the coordinator alone")
def test_what_an_analyst_sees_tells_of_one_save_no_more_than_a_step(roles):
    """A save, or a deletion, between two looks: nothing changes, or a number by one step, and no number is the memory's own."""
    drawn = Random(7)

    async def live(look: Callable[[], dict[str, int] | None]) -> list[tuple[int, int, dict[str, int], dict[str, int]]]:
        seen = []
        async with opened(roles.app) as storage:
            for user in ("ann", "bob", "cid", "dan"):
                await storage.memories.save(user, [MemoryRecord(text=f"Keeps a parrot of {user}")], dedup=False)
            assert await asyncio.to_thread(look) is None  # four users are too few
            await storage.memories.save("eve", [MemoryRecord(text="Keeps a parrot of eve")], dedup=False)
            before = await asyncio.to_thread(look)
            for _ in range(60):
                said = "x" * drawn.choice((1, 40, 99, 300, 3_000)) + str(drawn.random())
                record = MemoryRecord(text=said, importance=drawn.choice((1, 5, 10)))
                await storage.memories.save(drawn.choice("abcde"), [record], dedup=False)
                after = await asyncio.to_thread(look)
                seen.append((len(said), record.importance, before, after))
                before = after
        return seen

    def look() -> dict[str, int] | None:
        with psycopg.connect(roles.analyst, row_factory=dict_row) as conn:
            named = ", ".join(STEPS_OF)
            rows = conn.execute(f"SELECT {named} FROM discreet.analysis_memories").fetchall()  # type: ignore[call-overload]  # ours
        return rows[0] if rows else None

    seen = asyncio.run(live(look))
    for _, _, before, after in seen:
        assert {name: abs(after[name] - before[name]) in (0, step) for name, step in STEPS_OF.items()} == dict.fromkeys(
            STEPS_OF, True
        )
    for name, own in (("characters", 0), ("importance", 1)):  # what two exact averages would give
        guessed = [
            after["memories"] * after[name] - before["memories"] * before[name] == said[own]
            for *said, before, after in seen
        ]
        assert sum(guessed) < len(seen) / 4, name
    assert {after["memories"] for *_, after in seen} == {*range(5, 66, 5)}


@pytest.mark.slow
@pytest.mark.one_server("on a cluster a view has its owner's rights on the coordinator alone")
def test_weeks_are_the_same_whatever_the_time_zone_of_who_asks(roles):
    async def fill() -> None:
        async with opened(roles.app) as storage:
            for user in ("ann", "bob", "cid", "dan", "eve"):
                await storage.memories.save(user, [MemoryRecord(text="Keeps a parrot")])

    asyncio.run(fill())
    weeks = set()
    with psycopg.connect(roles.analyst) as conn:
        for hours in range(-84, 84, 12):
            conn.execute("SELECT set_config('timezone', %s, true)", (f"<x>{hours}",))
            weeks |= set(conn.execute("SELECT extract(epoch FROM week), memories FROM discreet.analysis_memories"))
    assert len(weeks) == 1


SHADOWED = ("text", "uuid", "bool", "int4", "timestamptz", "name")
"""Types that an intruder makes of their own."""


@pytest.mark.slow
@pytest.mark.one_server("a cluster makes no types that belong to a session")
def test_nobody_has_code_of_their_own_run_with_the_rights_of_a_function(roles):
    """A type of pg_temp is found before those of pg_catalog, where a function's search_path doesn't say otherwise."""
    with psycopg.connect(roles.app) as conn:
        me = uuid4()
        conn.execute("SELECT set_config('discreet.user_key', %s, true)", [str(me)])
        conn.execute("CREATE TEMP TABLE seen (who name)")
        conn.execute("GRANT ALL ON pg_temp.seen TO PUBLIC")
        conn.execute("INSERT INTO discreet.users (user_key) VALUES (%s)", [me])
        conn.execute(
            "INSERT INTO discreet.delegation (user_key, delegate_key, granted_at, granted_by)"
            " VALUES (%s, %s, now(), '')",
            [me, shown_key(me)],
        )
        for type_ in SHADOWED:
            conn.execute(f"""CREATE FUNCTION pg_temp.mine_{type_}(v pg_catalog.{type_}) RETURNS pg_catalog.bool LANGUAGE plpgsql
                AS $$ BEGIN INSERT INTO pg_temp.seen VALUES (current_user); RETURN true; END $$""")
            conn.execute(f"CREATE DOMAIN pg_temp.{type_} AS pg_catalog.{type_} CHECK (pg_temp.mine_{type_}(VALUE))")
        (threads,) = conn.execute(
            "SELECT relnamespace::regnamespace::pg_catalog.text FROM pg_class WHERE relname = 'checkpoint_threads'"
        ).fetchone()
        conn.execute(
            f"SELECT {threads}.checkpoint_threads_of_runs('{{r}}'), {threads}.checkpoint_threads_of_mine('', 10)"
        )
        conn.execute(f"SELECT {threads}.checkpoint_own_copy('t', 'a copy')")
        conn.execute("SELECT discreet.store_paths('', 'z'), discreet.erasures_since('-infinity')")
        conn.execute("SELECT set_config('discreet.thread', 't', true)")
        conn.execute(
            "SELECT discreet.me(), discreet.mine(), discreet.named_thread()"
        )  # which a session keeps as it has read them first
        conn.execute("SELECT discreet.read_for(%s, %s)", [me, me])
        assert conn.execute("SELECT current_setting('discreet.user_key')").fetchone() == (str(me),)
        assert {who for (who,) in conn.execute("SELECT who FROM pg_temp.seen")} <= {"discreet_app"}


@pytest.mark.slow
def test_no_function_works_with_the_rights_of_a_superuser(roles):
    with psycopg.connect(roles.owner) as conn:
        found = conn.execute("""
            SELECT p.oid::regprocedure::text, r.rolsuper, p.proconfig FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
            JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.prosecdef AND n.nspname NOT LIKE 'pg_%'
        """).fetchall()
    assert len(found) >= 3
    assert {(is_super, *config) for _, is_super, config in found} == {(False, "search_path=pg_catalog, pg_temp")}


@pytest.mark.slow
@pytest.mark.one_server("views of counts are of one server")
def test_an_analyst_learns_nothing_of_rows_by_a_function_of_their_own(roles):
    async def fill() -> None:
        async with opened(roles.app) as storage:
            for user in ("ann", "bob", "cid", "dan", "eve"):
                await storage.memories.save(user, [MemoryRecord(text="Keeps a parrot")])
            await storage.memories.save("ann", [MemoryRecord(text="Is ill", app_name="of a clinic")])

    asyncio.run(fill())
    notices: list[str] = []
    with psycopg.connect(roles.analyst, autocommit=True) as conn:
        conn.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
        conn.execute("""CREATE FUNCTION pg_temp.tell(of_row text) RETURNS bool LANGUAGE plpgsql COST 0.0001
            AS $$ BEGIN RAISE NOTICE 'it is %', of_row; RETURN true; END $$""")
        conn.execute("SELECT count(*) FROM discreet.analysis_memories WHERE pg_temp.tell(app_name)")
        conn.execute("SELECT count(*) FROM discreet.analysis_memories WHERE pg_temp.tell(type::text)")
        assert "of a clinic" not in " ".join(notices)
        for condition in ("true", "app_name = 'of a clinic'", "app_name >= 'of' AND week > now() - interval '1 month'"):
            asked = f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM discreet.analysis_memories WHERE {condition}"
            [[plan]] = conn.execute(asked).fetchall()
            assert plan[0]["Plan"]["Node Type"] == "Function Scan"
            assert plan[0]["Plan"]["Actual Rows"] + plan[0]["Plan"].get("Rows Removed by Filter", 0) == 1
        assert "user_fact" in " ".join(notices)  # which is told of, as five have it


@pytest.mark.slow
def test_an_auditor_reads_no_memory(roles):
    with psycopg.connect(roles.auditor, autocommit=True) as conn:
        conn.execute("SELECT count(*) FROM discreet.setting_change")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("SELECT text FROM discreet.memory")


@pytest.mark.slow
@pytest.mark.one_server("pg_dump of a cluster dumps the coordinator")
def test_the_role_for_backups_dumps_everything(roles):
    from discreet.storage.embedded.binaries import find_binaries

    async def fill() -> None:
        async with opened(roles.app) as storage:
            await remember(storage, "ann", "parrot")

    asyncio.run(fill())
    given_ = conninfo_to_dict(roles.backup)
    password = str(given_.pop("password"))
    with psycopg.connect(roles.owner) as conn:
        version = conn.info.server_version // 10_000
    program = find_binaries(version) / "bin" / "pg_dump"
    dumped = subprocess.run(
        [program, "--enable-row-security", f"--dbname={make_conninfo('', **given_)}"],
        env={"PGPASSWORD": password, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Keeps a parrot at home" in dumped


@pytest.mark.slow
def test_applying_it_again_changes_nothing(roles, monkeypatch):
    assert (
        CliRunner().invoke(commands, ["roles", "--apply"]).stdout == "All roles and policies are as they are to be.\n"
    )


def told_by_doctor() -> dict[str, Any]:
    """Return what `discreet doctor` says of it."""
    checks = json.loads(CliRunner().invoke(commands, ["doctor", "--json"]).stdout)["checks"]
    return next(check for check in checks if check["name"] == "row-level security")


CHANGES = (
    "ALTER TABLE discreet.conversation_log DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE discreet.memory NO FORCE ROW LEVEL SECURITY",
    "DROP POLICY app ON discreet.session_record",
    "ALTER POLICY app ON discreet.memory USING (true)",
    "CREATE POLICY more ON discreet.memory TO PUBLIC USING (true)",
    "GRANT SELECT ON discreet.memory TO discreet_analyst",
    "REVOKE INSERT ON discreet.memory FROM discreet_app",
    "ALTER FUNCTION discreet.read_for(uuid, uuid) SET search_path = public",
    "GRANT EXECUTE ON FUNCTION discreet.read_for(uuid, uuid) TO PUBLIC",
    "DROP FUNCTION discreet.store_paths(text, text)",
    "ALTER FUNCTION discreet.erasures_since(timestamptz) SECURITY INVOKER",
    "GRANT SELECT (user_key) ON checkpoint_threads TO discreet_app",
    "ALTER VIEW discreet.analysis_turns SET (security_barrier = false)",
    "CREATE TABLE discreet.more (user_key uuid PRIMARY KEY)",
    "GRANT SELECT ON discreet.memory TO PUBLIC",
    "GRANT UPDATE (success) ON discreet.audit_entry TO discreet_app",
    "CREATE OR REPLACE FUNCTION discreet.me() RETURNS uuid LANGUAGE sql STABLE AS 'SELECT NULL::uuid'",
)
LEFT = (
    "ALTER ROLE discreet_worker BYPASSRLS",
    "GRANT discreet_worker TO discreet_app",
    "GRANT CREATE ON SCHEMA discreet TO discreet_app",
    "ALTER TABLE discreet.audit_entry DISABLE TRIGGER audit_entry_is_not_deleted",
    "DROP TRIGGER audit_seal_is_not_deleted ON discreet.audit_seal",
    "CREATE VIEW discreet.more AS SELECT * FROM discreet.memory",
    "CREATE MATERIALIZED VIEW discreet.more AS SELECT * FROM discreet.memory",
    "CREATE POLICY more ON discreet.memory TO CURRENT_USER USING (true)",
    "CREATE FUNCTION discreet.more() RETURNS bigint SECURITY DEFINER LANGUAGE sql AS 'SELECT count(*) FROM discreet.memory'",
)


@pytest.mark.fast_cases(1)
@pytest.mark.dialect
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_was_changed_is_told_of_and_mended(roles, change):
    assert told_by_doctor()["state"] == "ok"
    with psycopg.connect(roles.owner, autocommit=True) as conn:
        conn.execute(change)
        told = told_by_doctor()
        assert (told["state"], "discreet roles --apply" in told["say"]) == ("fail", True)
        assert "made rights" in CliRunner().invoke(commands, ["roles", "--apply"]).stdout
        assert told_by_doctor()["state"] == "ok"
        assert conn.execute("SELECT FROM pg_policy WHERE polname = 'more'").fetchone() is None
    assert "as they are to be" in CliRunner().invoke(commands, ["roles", "--apply"]).stdout


@pytest.mark.fast_cases(2)
@pytest.mark.one_server("on a cluster some of these can't be said")
@pytest.mark.parametrize("change", LEFT)
def test_what_others_put_there_is_told_of_as_long_as_it_is_there(roles, change):
    with psycopg.connect(roles.owner, autocommit=True) as conn:
        conn.execute(change)
        try:
            assert told_by_doctor()["state"] == "fail"
            assert "Somebody else put there" in CliRunner().invoke(commands, ["roles", "--apply"]).stdout
            assert told_by_doctor()["state"] == "warn"
            assert "Somebody else put there" in CliRunner().invoke(commands, ["roles", "--apply"]).stdout
        finally:
            conn.execute("ALTER ROLE discreet_worker NOBYPASSRLS")
            conn.execute("REVOKE discreet_worker FROM discreet_app")


@pytest.mark.slow
def test_a_role_that_is_not_the_applications_is_told_of(roles, monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", roles.backup)
    assert told_by_doctor()["state"] == "fail"


@pytest.mark.slow
def test_roles_of_another_name_lock_nobody_out(roles):
    done = CliRunner().invoke(commands, ["roles", "--apply", "--prefix", "second"])
    assert isinstance(done.exception, MigrationError)
    assert "--prefix discreet" in str(done.exception)
    assert told_by_doctor()["state"] == "ok"


@pytest.mark.slow
async def test_several_may_make_roles_at_once(database):
    await migrate_checkpoints(database)
    with psycopg.connect(database, autocommit=True) as conn:
        for _ in range(2):
            await asyncio.gather(*(apply_roles(target_of(database)) for _ in range(4)))
            conn.execute("COMMENT ON POLICY app ON discreet.users IS NULL")  # as if they had not been made
        await apply_roles(target_of(database))
        [(noted,)] = conn.execute(
            "SELECT obj_description(oid, 'pg_policy') FROM pg_policy WHERE polname = 'app' AND polrelid = 'discreet.users'::regclass"
        ).fetchall()
    assert noted


@pytest.mark.slow
async def test_it_holds_in_a_schema_of_another_name_with_pgvector_out_of_sight(empty_database, monkeypatch):
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("DROP EXTENSION IF EXISTS vector")
        conn.execute("CREATE SCHEMA extensions")
        conn.execute("CREATE EXTENSION vector SCHEMA extensions")
    name = "Acme memory" if CITUS_DSN is None else "acme_memory"  # Citus 13.2 hands a REVOKE on with names unquoted
    monkeypatch.setenv("DISCREET_SCHEMA", name)
    await migrate(empty_database)
    await migrate_checkpoints(empty_database)
    named = await asyncio.to_thread(logins, empty_database)
    named.name_them(monkeypatch)
    async with opened(named.app) as storage:
        await remember(storage, "ann", "parrot")
        await remember(storage, "bob", "tortoise")
        found = await storage.memories.search("ann", "tortoise parrot", limit=50, threshold=0.0)
        assert {hit.record.text for hit in found} == {"Keeps a parrot at home", "Reads about parrot"}
        assert [turn.input_text for turn in await storage.log.read("ann")] == ["parrot"]
    told = await asyncio.to_thread(told_by_doctor)
    assert told["state"] == "ok", told


@pytest.mark.slow
def test_tables_of_others_keep_their_rights(database):
    asyncio.run(migrate_checkpoints(database, schema="threads"))
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("CREATE TABLE threads.checkpoint_reviews (user_key uuid)")
        logins(database)
        found = conn.execute(
            "SELECT relacl, relrowsecurity FROM pg_class WHERE relname = 'checkpoint_reviews'"
        ).fetchone()
    assert found == (None, False)


@pytest.mark.slow
@pytest.mark.one_server("a cluster wants the steps of each table in a transaction of its own, as --apply has them")
def test_the_sql_that_is_shown_is_the_sql_that_is_run(database):
    shown = CliRunner().invoke(commands, ["roles", "--print", "--dsn", database]).stdout
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(shown)  # type: ignore[call-overload]  # our own
    named = logins(database)

    async def look() -> None:
        async with await connection.connect(named.app) as conn:
            assert conn.row_security
            assert not conn.sees_everybody

    asyncio.run(look())


@pytest.mark.slow
async def test_the_embedded_server_has_it_from_the_first_run(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    async with open_storage(embeddings=StubEmbeddings(dims=DIMS)) as storage:
        await remember(storage, "ann", "parrot")
        async with storage.pool.connection() as conn:
            row = await (await conn.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")).fetchone()
            assert row == {"rolsuper": False}
            with pytest.raises(StorageError, match="names no user"):
                await conn.execute("SELECT * FROM discreet.memory")
