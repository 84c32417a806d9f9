"""What an entry says, and when it is there."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from discreet.access.actor import Actor, acting
from discreet.access.identity import Identities
from discreet.errors import StorageError
from discreet.ports import NOBODY
from discreet.shown_keys import shown_key

ENTRIES = "SELECT * FROM discreet.audit_entry ORDER BY user_key, number"


async def test_an_entry_says_who_did_what_to_whose_data(trail):
    ann = trail.keys.of_user("ann")
    actor = Actor(
        kind="admin",
        identity=Identities(bytes(32)).of("carer"),
        request_id="request\x00 7",
        ip_address="192.0.2.7",
        user_agent="curl/8\nx" + 300 * "y",
    )
    with acting(actor):
        await trail.log.record("memory.read", user_key=ann, data="memory", success=False, counts={"memories": 3})
    [row] = await trail.rows(ENTRIES)
    assert row.pop("hash")
    assert row == {
        "user_key": ann,
        "number": 1,
        "at": trail.now,
        "actor_kind": "admin",
        "actor": actor.identity,
        "action": "memory.read",
        "success": False,
        "data": "memory",
        "counts": {"memories": 3},
        "request_id": "request 7",
        "ip_address": "192.0.2.7",
        "user_agent": ("curl/8 x" + 300 * "y")[:200],
    }


async def test_nobody_is_named_in_the_clear(trail):
    with acting(Actor(kind="operator", identity="ann@example.com")):
        await trail.log.record("memory.read", user_key="bob@example.com", data="memory")
    [row] = await trail.rows(ENTRIES)
    assert row["actor"] == str(shown_key(trail.keys.of_user("ann@example.com")))
    assert row["user_key"] == trail.keys.of_user("bob@example.com")
    assert "example.com" not in str(row)


async def test_what_concerns_nobody_in_particular_has_a_chain_of_its_own(trail):
    await trail.log.record("setting.change", user_key=None, data="setting")
    [row] = await trail.rows(ENTRIES)
    assert (row["user_key"], row["number"]) == (NOBODY, 1)


async def test_an_entry_is_there_if_its_transaction_is(trail):
    async with trail.pool.connection() as conn, conn.cursor() as cursor:
        async with conn.transaction(force_rollback=True):
            await trail.log.record_in(cursor, "memory.write", user_key="ann", data="memory")
        async with conn.transaction():
            await trail.log.record_in(cursor, "memory.write", user_key="ann", data="memory")
    assert [row["number"] for row in await trail.rows(ENTRIES)] == [1]


async def test_entries_of_many_writers_have_numbers_without_gaps(trail):
    async def write(n: int) -> None:
        await trail.write("ann" if n % 2 else "bob", 5)

    await asyncio.gather(*map(write, range(16)))
    for user in ("ann", "bob"):
        rows = await trail.rows(
            "SELECT number FROM discreet.audit_entry WHERE user_key = %s ORDER BY number", trail.keys.of_user(user)
        )
        assert [row["number"] for row in rows] == list(range(1, 41))
    assert not (await trail.verify()).findings


async def test_writers_of_different_people_do_not_wait_for_each_other(trail):
    await trail.write("ann", 1)
    async with trail.pool.connection() as conn, conn.transaction(), conn.cursor() as cursor:
        await trail.log.record_in(cursor, "memory.write", user_key="ann", data="memory")
        await trail.write("bob", 1)  # while that is open


async def test_the_owners_own_reading_leaves_no_entry(trail):
    ann = trail.keys.of_user("ann")
    for actor in (Actor(kind="user"), Actor(kind="worker"), Actor(kind="admin", identity="ann")):
        with acting(actor):
            await trail.log.record_reading("memory.read", user_key=ann, data="memory")
    for actor in (Actor(kind="operator"), Actor(kind="user", identity="bob"), Actor(kind="admin", identity="bob")):
        with acting(actor):
            await trail.log.record_reading("memory.read", user_key=ann, data="memory")
    assert [row["actor_kind"] for row in await trail.rows(ENTRIES)] == ["operator", "user", "admin"]


@pytest.mark.one_server("tables that are spread have no triggers, see docs/audit.md")
@pytest.mark.parametrize("statement", ["UPDATE {} SET {} = {}", "DELETE FROM {}", "TRUNCATE {}"])
@pytest.mark.parametrize(("table", "column"), [("audit_entry", "number"), ("audit_seal", "seal_number")])
async def test_entries_and_seals_are_only_ever_added_to(trail, statement, table, column):
    await trail.write("ann", 1)
    await trail.sealer.seal()
    async with trail.pool.connection() as conn:
        with pytest.raises(psycopg.errors.RestrictViolation):
            await conn.execute(statement.format(f"discreet.{table}", column, column))


async def test_a_trail_that_cannot_be_written_to_says_so(trail):
    await trail.run("DROP TABLE discreet.audit_entry")
    with pytest.raises(StorageError):
        await trail.log.record("user.export", user_key="ann", data="all")


async def test_counts_and_times_of_any_kind_can_be_verified(trail):
    for counts in ({}, {"b": 1, "a": 2, "turns": 2**40}, {"conversation_log": 3, "memory.text": 0, 'a "b"': 1, "é": 2}):
        trail.now = trail.now.replace(microsecond=len(counts) * 7)
        await trail.log.record("key.rotate", user_key=None, data="key", counts=counts)
    assert not (await trail.verify()).findings
