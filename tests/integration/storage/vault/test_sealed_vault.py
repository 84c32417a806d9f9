"""What lies in a shared vault tells nothing, and is lost with its key."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest
from kit.places import files, folder_of
from kit.search import Words, search
from testkit.redis_clusters import ON_CLUSTER

from discreet.errors import ConfigurationError, StorageError, StorageUnavailableError
from discreet.metrics import vault_failures
from discreet.settings import Settings
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.vault import postgres_vault
from discreet.storage.vault.choice import turn_vault
from discreet.storage.vault.postgres_vault import PostgresTurnVault
from discreet.storage.vault.redis_vault import RedisTurnVault
from discreet.testing import InMemoryKeys

shared = pytest.mark.parametrize("place", ["postgres", "redis", ON_CLUSTER], indirect=True)
MARK = "<EMAIL:7K2QX3MD>"


def lost():
    return vault_failures.labels("EncryptionError")._value.get()


@shared
async def test_no_value_name_or_turn_can_be_read_where_it_lies(kept, token):
    turn, name, value, medium = (f"{token} {number}" for number in range(4))
    await kept.vault.ahold(turn, {name: value, "request:input": medium * 1_000, MARK: value})
    found = search(kept.stored(), Words("request", "EMAIL", "7K2QX3MD", word=token))
    assert found.size > 14_000
    assert found.leaks == {}


@shared
async def test_an_old_key_still_opens_and_a_missing_one_costs_its_values_only(place, kept, caplog):
    await kept.vault.ahold("1", {MARK: "ann"})
    old = place.keys.current()
    place.keys.rotate()
    await kept.vault.ahold("1", {MARK: "eve", "new": "bob"})
    assert await kept.other.avalues("1") == {MARK: "ann", "new": "bob"}
    place.keys.forget(old.id)
    before = lost()
    assert await kept.other.avalues("1") == {"new": "bob"}
    assert lost() == before + 1
    assert "turn_vault_unreadable values=1" in caplog.text
    assert "ann" not in caplog.text


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
@pytest.mark.one_server("moves values between rows that are on several nodes")
async def test_a_row_that_was_moved_or_changed_is_lost(place, kept):
    await kept.vault.ahold("1", {"mine": "ann", "good": "x"})
    await kept.vault.ahold("2", {"theirs": "eve"})
    swap = """
    UPDATE discreet.vault_value v SET sealed = o.sealed FROM discreet.vault_value o
    WHERE v.turn_key = %s AND o.turn_key = %s
    """
    turns = [kept.vault._values.turn_key(turn) for turn in ("2", "1")]
    with psycopg.connect(place.dsn) as connection:
        connection.execute(swap, turns)
    assert await kept.vault.avalues("2") == {}
    assert await kept.vault.avalues("1") == {"mine": "ann", "good": "x"}


@pytest.mark.slow
@pytest.mark.one_server("searches the files of the tests' own server")
@pytest.mark.direct("parameters in the DSN")
async def test_neither_files_nor_log_of_the_database_have_anything_readable(database, token):
    """With a server that logs every statement and its parameters, as an administrator may have it."""
    names = {name: f"{token}{name}" for name in ("turn", "key", "value", "medium", "dropped")}
    chatty = ("log_statement=all", "log_parameter_max_length=-1", "log_error_verbosity=default")
    logging = " ".join(f"-c {option}" for option in chatty)
    async with make_pool(psycopg.conninfo.make_conninfo(database, options=logging), max_size=2) as pool:
        vault = PostgresTurnVault(pool, keys=InMemoryKeys())
        await vault.ahold(names["turn"], {names["key"]: names["value"], "m": names["medium"] * 50_000})
        await vault.ahold("2", {"d": names["dropped"]})
        await vault.adrop("2")
        assert len(await vault.avalues(names["turn"])) == 2
        async with pool.connection() as connection:
            await connection.execute("CREATE TABLE written (control text)")
            await connection.execute("INSERT INTO written VALUES (%s)", [f"{token}control"])
    found = search(files(folder_of(database)), Words(**names, control=f"{token}control"))
    assert found.leaks.keys() == {"control"}
    where = {part for place in found.places for part in Path(place).parts}
    assert where >= {"base", "pg_wal", "server.log"}  # the control is found where the values are not


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_its_tables_never_reach_the_write_ahead_log(place, kept):
    query = """
    SELECT c.relname, c.relpersistence, t.relpersistence FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid
    WHERE c.relname IN ('vault_turn', 'vault_value') ORDER BY 1
    """
    with psycopg.connect(place.dsn) as connection:
        assert connection.execute(query).fetchall() == [("vault_turn", "u", None), ("vault_value", "u", "u")]


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_what_is_added_at_once_is_one_transaction(place, kept):
    """It keeps the turn's row locked until its values are there, see `discreet.storage.vault.sql`."""
    await kept.vault.ahold("1", {MARK: "ann", "b": "bob"})
    query = "SELECT xmin::text FROM discreet.vault_turn UNION SELECT xmin::text FROM discreet.vault_value"
    with psycopg.connect(place.dsn) as connection:
        assert len(connection.execute(query).fetchall()) == 1


@pytest.mark.parametrize("place", ["redis", ON_CLUSTER], indirect=True)
async def test_redis_forgets_a_turn_by_itself(place, kept):
    await kept.vault.ahold("1", {MARK: "ann"})
    with place.redis.tester() as client:
        [key] = client.scan_iter()
        assert key.startswith(b"vault:")
        assert 3_590_000 < client.pttl(key) <= 3_600_000


@pytest.mark.slow
async def test_a_turn_ends_by_the_clock_of_the_server(database, redis_url):
    """Whatever those of the processes say."""
    async with make_pool(database, max_size=2) as pool:
        vaults = [PostgresTurnVault(pool, keys=InMemoryKeys(), ttl=0.2)]
        vaults.append(RedisTurnVault(redis_url, keys=InMemoryKeys(), ttl=0.2))
        for vault in vaults:
            await vault.ahold("1", {MARK: "ann"})
            async with asyncio.timeout(10):
                left = await vault.avalues("1")
                while left:
                    await asyncio.sleep(0.02)
                    left = await vault.avalues("1")
        await vaults[1].close()


async def test_without_a_key_there_is_no_shared_vault(database):
    async with make_pool(database, max_size=2) as pool:
        for chosen in (
            Settings(turn_vault="postgres"),
            Settings(turn_vault="redis", redis_url="redis://127.0.0.1:1/0"),
        ):
            with pytest.raises(ConfigurationError, match="discreet key"):
                turn_vault(pool, chosen, keys=None)
        with pytest.raises(ConfigurationError, match="DISCREET_REDIS_URL"):
            turn_vault(pool, Settings(turn_vault="redis"), keys=InMemoryKeys())


async def test_a_server_that_is_down_is_one_error_that_says_nothing_of_the_values(database, token):
    async with make_pool(database, max_size=2) as pool:
        closed = PostgresTurnVault(pool, keys=InMemoryKeys())
    for vault in (closed, RedisTurnVault("redis://127.0.0.1:1/0", keys=InMemoryKeys())):
        for call in (vault.ahold(token, {token: token}), vault.avalues(token), vault.adrop(token)):
            with pytest.raises(StorageUnavailableError) as caught:
                await call
            assert token not in f"{caught.value!r} {caught.value.__cause__!r}"
            assert caught.value.__suppress_context__


@pytest.mark.dialect
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
async def test_a_statement_that_is_refused_adds_nothing_and_breaks_no_connection(place, kept, token):
    away = "ALTER TABLE discreet.vault_value RENAME TO vault_value_away"
    back = "ALTER TABLE discreet.vault_value_away RENAME TO vault_value"
    await kept.vault.ahold("1", {MARK: "ann"})
    with psycopg.connect(place.dsn, autocommit=True) as connection:
        connection.execute(away)
        for _ in range(6):  # more than the pool has connections
            with pytest.raises(StorageError) as caught:
                await kept.vault.ahold("2", {token: token})
            assert token not in str(caught.value)
        assert connection.execute("SELECT count(*) FROM discreet.vault_turn").fetchone() == (1,)
        connection.execute(back)
    await kept.vault.ahold("2", {"b": "bob"})
    assert [await kept.vault.avalues(turn) for turn in ("1", "2")] == [{MARK: "ann"}, {"b": "bob"}]


@shared
async def test_a_blocking_call_on_the_vaults_own_loop_is_refused_at_once(kept):
    for call in (lambda: kept.vault.hold("1", {}), lambda: kept.vault.values("1"), lambda: kept.vault.drop("1")):
        with pytest.raises(ConfigurationError, match="await"):
            call()


@pytest.mark.slow
async def test_a_turn_does_not_wait_for_a_database_that_hangs(migrated_relay, monkeypatch):
    async with make_pool(migrated_relay.dsn, max_size=2) as pool:
        vault = PostgresTurnVault(pool, keys=InMemoryKeys())
        await vault.ahold("1", {MARK: "ann"})
        monkeypatch.setattr(postgres_vault, "ANSWER_SECONDS", 0.2)  # a busy machine may need longer for what works
        migrated_relay.hang()
        async with asyncio.timeout(20):
            for work in (vault.ahold("1", {"more": "x"}), vault.avalues("1"), vault.adrop("1")):
                with pytest.raises(StorageUnavailableError):
                    await work
        migrated_relay.down()
