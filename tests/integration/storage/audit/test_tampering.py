"""Whatever somebody with all rights in the database does to the trail is found, but for what only anchors show."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from psycopg.errors import IntegrityError
from psycopg.types.json import Jsonb

from discreet.access.identity import Identities
from discreet.access.user_keys import UserKeys
from discreet.storage.audit.verifying import entries_there_are

TABLES = {
    "audit_entry": ("user_key", "number"),
    "audit_chain": ("user_key",),
    "audit_seal": ("seal_number",),
    "audit_sealed_head": ("user_key", "seal_number"),
    "audit_mark": ("only_row",),
}
State = dict[str, list[dict[str, Any]]]

LIMITS = [2**63 - 1, -(2**63)]
"""Of a bigint. The database refuses to count on from the one, and back from the other."""


async def read(trail) -> State:
    return {
        table: await trail.rows(f"SELECT * FROM discreet.{table} ORDER BY {', '.join(key)}")
        for table, key in TABLES.items()
    }


async def write(trail, state: State) -> None:
    async with trail.pool.connection() as conn, conn.transaction(), conn.cursor() as cursor:
        await cursor.execute("SET LOCAL session_replication_role = replica")
        for table, rows in state.items():
            await cursor.execute(f"DELETE FROM discreet.{table}")
            for row in rows:
                values = [Jsonb(value) if column == "counts" else value for column, value in row.items()]
                columns, places = ", ".join(row), ", ".join(["%s"] * len(row))
                await cursor.execute(f"INSERT INTO discreet.{table} ({columns}) VALUES ({places})", values)


@pytest.fixture
async def written(trail) -> State:
    """Return a trail of five chains, one of them trimmed at its beginning, one of all its entries; all of it sealed."""
    for user, entries in (("cyd", 4), ("dan", 2)):
        await trail.write(user, entries)
    await trail.sealer.seal()
    trail.now += timedelta(days=10)
    long_ago = trail.now - timedelta(days=5)
    for user, entries in (("ann", 5), ("bob", 3), ("cyd", 3)):
        await trail.write(user, entries)
    await trail.sealer.seal()
    trimmed = await trail.trimmer.trim(long_ago)
    assert (trimmed.chains, trimmed.entries, trimmed.seals, trimmed.broken) == (2, 6, 1, 0)
    await trail.write("ann", 2, "memory.delete")
    await trail.sealer.seal()
    trail.now += timedelta(seconds=60)
    await trail.write("ann", 2)
    await trail.log.record("setting.change", user_key=None, data="setting")
    await trail.sealer.seal()
    return await read(trail)


def other(value: Any, column: str, draw: st.DataObject, state: State) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool():
            others = [not value]
        case int():
            others = [value + 1, value - 1, value + 1_000, 2**31 - 1, 0, -1]
            others += [] if column == "heads" else LIMITS  # an integer
        case datetime():
            others = [value + microseconds * timedelta(microseconds=1) for microseconds in (1, -1, 86_400)]
        case UUID():
            others = [*(row["user_key"] for row in state["audit_chain"]), UUID(int=7)]
        case dict():
            others = [{}, value | {"memories": 77}, value | {"more": 1}, [], None]
        case bytes():
            others = [
                *(row["hash"] for row in state["audit_entry"]),
                bytes(32),
                b"",
                value[:-1] + bytes([value[-1] ^ 1]),
            ]
        case _:
            optional = column in {"actor", "request_id", "ip_address", "user_agent", "beginning", "first_at"}
            others = ["", "ann", "memory.read", *([None] if optional else [])]
    return draw.draw(st.sampled_from(others))


def change(state: State, draw: st.DataObject) -> None:
    rows = state[draw.draw(st.sampled_from(sorted(TABLES)))]
    row = draw.draw(st.sampled_from(rows))
    column = draw.draw(st.sampled_from(sorted(row)))
    if column in {"first_at", "beginning"} and row[column] is None:
        row[column] = row["last_hash"] if column == "beginning" else state["audit_entry"][0]["at"]
        return
    row[column] = other(row[column], column, draw, state)


def remove(state: State, draw: st.DataObject) -> None:
    rows = state[draw.draw(st.sampled_from(sorted(TABLES)))]
    rows.remove(draw.draw(st.sampled_from(rows)))


def insert(state: State, draw: st.DataObject) -> None:
    table = draw.draw(st.sampled_from(sorted(TABLES)))
    row = dict(draw.draw(st.sampled_from(state[table])))
    for column in TABLES[table]:
        row[column] = other(row[column], column, draw, state)
    state[table].append(row)


def swap(state: State, draw: st.DataObject) -> None:
    one, two = draw.draw(st.lists(st.sampled_from(state["audit_entry"]), min_size=2, max_size=2))
    for column in draw.draw(st.sampled_from([("number",), ("number", "hash"), ("user_key", "number")])):
        one[column], two[column] = two[column], one[column]


def cut_end(state: State, draw: st.DataObject) -> None:
    """Take the last entries of a chain away and mend its head; sometimes the heads that were sealed too."""
    head = draw.draw(st.sampled_from(state["audit_chain"]))
    own = [row for row in state["audit_entry"] if row["user_key"] == head["user_key"]]
    left = own[: draw.draw(st.integers(0, max(0, len(own) - 1)))]
    state["audit_entry"] = [row for row in state["audit_entry"] if row not in own or row in left]
    if left:
        head |= {"last_number": left[-1]["number"], "last_hash": left[-1]["hash"]}
    else:
        state["audit_chain"].remove(head)
    head["is_sealed"] = draw.draw(st.booleans())
    if draw.draw(st.booleans()):
        last = left[-1]["number"] if left else 0
        state["audit_sealed_head"] = [
            row for row in state["audit_sealed_head"] if row["user_key"] != head["user_key"] or row["number"] <= last
        ]


def cut_beginning(state: State, draw: st.DataObject) -> None:
    """Take the first entries of a chain away and have its head say that they were trimmed."""
    head = draw.draw(st.sampled_from(state["audit_chain"]))
    own = [row for row in state["audit_entry"] if row["user_key"] == head["user_key"]]
    if len(own) < 2:
        return
    place = draw.draw(st.integers(1, len(own) - 1))
    beginnings = [row["beginning"] for row in state["audit_chain"]]
    head |= {
        "first_number": own[place]["number"],
        "hash_before": own[place - 1]["hash"],
        "first_at": own[place]["at"],
        "beginning": draw.draw(st.sampled_from(beginnings)),
    }
    state["audit_entry"] = [row for row in state["audit_entry"] if row not in own[:place]]


TAMPERINGS = (change, remove, insert, swap, cut_end, cut_beginning)


def comparable(state: State) -> str:
    """Return what the trail says.

    Whether a head is sealed is a note: without it, it is sealed once more. A head whose entries were all trimmed says nothing.
    """
    said = deepcopy(state)
    of_entries = {row["user_key"] for row in said["audit_entry"]}
    said["audit_chain"] = [
        row for row in said["audit_chain"] if row["user_key"] in of_entries or row["first_number"] == 1
    ]
    for row in said["audit_chain"]:
        del row["is_sealed"]
    rows = {table: sorted(json.dumps(row, sort_keys=True, default=repr) for row in said[table]) for table in said}
    return json.dumps(rows)


async def test_what_nobody_touched_is_sound(trail, written):
    report = await trail.verify()
    assert report.findings == []
    assert (report.chains, report.entries) == (5, len(written["audit_entry"]))
    assert (report.seals, report.unsealed) == (len(written["audit_seal"]), 0)
    assert {row["first_number"] for row in written["audit_chain"]} == {1, 3, 5}


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data(), times=st.integers(1, 3))
async def test_any_tampering_is_found(trail, written, draw, times):
    state = deepcopy(written)
    for _ in range(times):
        tamper = draw.draw(st.sampled_from(TAMPERINGS))
        assume(all(state.values()))
        tamper(state, draw)
    assume(comparable(state) != comparable(written))
    try:
        await write(trail, state)
    except IntegrityError:
        assume(False)  # two rows of one key
    assert (await trail.verify()).found


@pytest.mark.dialect
async def test_a_finding_says_where(trail, written):
    bob = trail.keys.of_user("bob")
    await trail.run("UPDATE discreet.audit_entry SET counts = '{}' WHERE user_key = %s AND number = 2", bob)
    [finding] = (await trail.verify()).findings
    assert (finding.kind, finding.user_key, finding.number) == ("entry", bob, 2)
    [finding] = (await trail.verify(user_key=bob)).findings
    assert (finding.kind, finding.number) == ("entry", 2)
    assert not (await trail.verify(user_key=trail.keys.of_user("ann"))).findings


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("number", LIMITS)
@pytest.mark.parametrize(
    ("table", "column", "kind"),
    [
        ("audit_chain", "last_number", "end"),
        ("audit_chain", "first_number", "beginning"),
        ("audit_entry", "number", "missing"),
        ("audit_seal", "seal_number", "seal"),
        ("audit_sealed_head", "number", "seal"),
        ("audit_sealed_head", "seal_number", "seal"),
        ("audit_mark", "seal_number", "mark"),
    ],
)
async def test_a_number_of_which_there_is_no_next_hides_nothing(trail, table, column, kind, number):
    ann, bob = map(trail.keys.of_user, ("ann", "bob"))
    for user in ("ann", "bob"):
        await trail.write(user, 3)
    await trail.sealer.seal()
    await trail.run("UPDATE discreet.audit_entry SET counts = '{}' WHERE user_key = %s AND number = 2", bob)
    all_rows = "%s::uuid IS NOT NULL"
    which = {"audit_entry": "user_key = %s AND number = 3", "audit_seal": all_rows, "audit_mark": all_rows}.get(
        table, "user_key = %s"
    )
    await trail.run(f"UPDATE discreet.{table} SET {column} = %s WHERE {which}", number, ann)
    assert await entries_there_are(trail.pool) >= 0
    findings = {(found.kind, found.user_key) for found in (await trail.verify()).findings}
    assert ("entry", bob) in findings
    assert (kind, None if kind in {"seal", "mark"} else ann) in findings


async def test_all_is_found_that_was_done_to_a_long_chain(trail):
    await trail.write("ann", 20)
    await trail.run("DELETE FROM discreet.audit_entry WHERE number IN (5, 6)")
    await trail.run("UPDATE discreet.audit_entry SET action = 'memory.read' WHERE number = 11")
    await trail.run("UPDATE discreet.audit_entry SET at = 'infinity' WHERE number = 15")
    findings = (await trail.verify()).findings
    assert [(found.kind, found.number) for found in findings] == [("missing", 7), ("entry", 11), ("entry", 15)]
    assert findings[0].problem == "Entries 5 to 6, before this one, are missing."


@pytest.mark.one_server("a cluster can't join in an UPDATE as this test does")
async def test_an_end_that_was_cut_off_is_found_by_the_seals(trail):
    await trail.write("ann", 5)
    await trail.sealer.seal()
    await trail.run("DELETE FROM discreet.audit_entry WHERE number > 3")
    await trail.run("UPDATE discreet.audit_chain SET last_number = 3, is_sealed = false")
    await trail.run(
        "UPDATE discreet.audit_chain SET last_hash = (SELECT hash FROM discreet.audit_entry WHERE number = 3)"
    )
    [finding] = (await trail.verify()).findings
    assert (finding.kind, finding.user_key, finding.number) == ("end", trail.keys.of_user("ann"), 5)


async def test_a_trail_put_back_to_a_former_state_is_found_by_an_anchor(trail):
    await trail.write("ann", 2)
    await trail.sealer.seal()
    former = await read(trail)
    first = await trail.sealer.last()
    await trail.write("ann", 1, "memory.read")
    await trail.sealer.seal()
    second = await trail.sealer.last()
    await write(trail, former)
    anchors = [(seal.number, seal.hash) for seal in (first, second)]
    assert not (await trail.verify()).findings
    [finding] = (await trail.verify(anchors=anchors)).findings
    assert (finding.kind, finding.number) == ("anchor", 2)
    await trail.write("ann", 1)  # whoever did it goes on
    await trail.sealer.seal()
    [finding] = (await trail.verify(anchors=anchors)).findings
    assert (finding.kind, finding.number) == ("anchor", 2)


async def test_another_key_verifies_nothing(trail):
    await trail.write("ann", 1)
    trail.keys = UserKeys(Identities(bytes(32)))
    assert (await trail.verify()).found
