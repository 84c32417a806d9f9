"""A run that was under way when its thread was deleted stores nothing more, however closely the two meet."""

from __future__ import annotations

import asyncio
import random

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from discreet.checkpoint.postgres.puts import SINCE, MessageRows
from discreet.checkpoint.postgres.threads import NEVER
from discreet.errors import ThreadDeletedError

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_messages")
ROUNDS = 120
"""Of a deletion among writes. Without the later passes, or without a row for a first put to lock, some leave rows."""


@pytest.fixture
def left(rows):
    def count(thread_id):
        return [rows(f"SELECT count(*) FROM {table} WHERE thread_id = %s", thread_id)[0] for table in TABLES]

    return count


def begun_before(thread):
    """Say of a thread's next put that its run began before any deletion."""
    thread.config["configurable"][SINCE] = NEVER
    return thread


@pytest.mark.fast_cases(2)
async def test_a_late_put_stores_nothing(tier, another, start, say, left):
    thread = start(tier)
    await thread.put(say("a"), note=["x"])
    await another.adelete_thread("1")
    with pytest.raises(ThreadDeletedError):
        await thread.put(say("b"), note=["y"])
    with pytest.raises(ThreadDeletedError):
        await tier.aput_writes(thread.config, [("note", ["z"])], "task")
    with pytest.raises(ThreadDeletedError):
        await begun_before(start(tier)).put(say("c"))
    assert left("1") == [0, 0, 0, 0]


@pytest.mark.fast_cases(2)
async def test_a_new_run_stores_under_the_same_id_and_a_late_one_beside_it_does_not(tier, another, start, say, left):
    old = start(tier)
    await old.put(say("a"))
    await another.adelete_thread("1")
    new = start(tier)
    new.config["configurable"][SINCE] = (await another.alast_deletions(["1"])).times["1"].isoformat()
    await new.put(first := say("b"), note=["x"])
    await new.put(second := [*first, *say("c")])
    await tier.aput_writes(new.config, [("note", ["y"])], "task")
    with pytest.raises(ThreadDeletedError):
        await old.put(say("d"))
    assert await new.read() == second
    assert left("1") == [2, 1, 1, 2]


@pytest.mark.fast_cases(2)
async def test_the_second_deletion_counts(tier, another, start, say, left):
    await another.adelete_thread("1")
    between = (await another.alast_deletions(["1"])).times["1"]
    await another.adelete_thread("1")
    assert (await another.alast_deletions(["1"])).times["1"] > between
    thread = start(tier)
    thread.config["configurable"][SINCE] = between.isoformat()
    with pytest.raises(ThreadDeletedError):
        await thread.put(say("a"))
    assert left("1") == [0, 0, 0, 0]


@pytest.mark.fast_cases(2)
async def test_a_copy_to_a_deleted_thread_is_a_new_beginning_and_one_from_it_is_nothing(
    tier, another, start, say, left
):
    await start(tier, "1").put(value := say("a"))
    await start(tier, "2").put(say("b"))
    await another.adelete_thread("2")
    await tier.acopy_thread("2", "3")
    await tier.acopy_thread("1", "2")
    assert left("3") == [0, 0, 0, 0]
    copy = start(tier, "2")
    copy.config = (found := await copy.load()).config
    assert found.deleted_at is not None
    await copy.put(longer := [*value, *say("c")])
    assert await copy.read() == longer


@pytest.mark.fast_cases(3)
@pytest.mark.dialect
async def test_tombstones_go_when_their_time_is_over(tier, start, say, rows):
    for name in ("1", "2", "3"):
        await tier.adelete_thread(name)
    rows("UPDATE checkpoint_threads SET deleted_at = deleted_at - interval '1 day' WHERE thread_id <> '3'")
    assert [*(await tier.alast_deletions(["1", "2", "3"])).times] == ["3"]
    await start(tier, "4").put(say("a"))
    await begun_before(start(tier, "2")).put(say("a"))
    await tier.adelete_thread("5")
    assert rows("SELECT thread_id FROM checkpoint_threads ORDER BY 1") == ["2", "3", "4", "5"]


async def write_on(thread, say, started):
    """Store one checkpoint after the other, with writes, until there is no more to be stored."""
    value = []
    try:
        for _ in range(12):
            await thread.put(value := [*value, *say("a")], note=["x"])
            started.set()
            await thread.tier.aput_writes(thread.config, [("note", ["y"])], "task")
    except ThreadDeletedError:
        return


@pytest.mark.slow
async def test_nothing_is_left_wherever_deletion_and_writes_meet(open_tier, start, say, rows):
    """Over two pools, as two processes have them; some writers have stored before, for others it is the first time."""
    writing, deleting = await open_tier(pool={"max_size": 4}), await open_tier()
    dice = random.Random(7)
    for number in range(ROUNDS):
        name, started = f"thread-{number}", asyncio.Event()
        writers = [asyncio.create_task(write_on(begun_before(start(writing, name)), say, started))]
        if number % 2:
            await started.wait()
        writers += [
            asyncio.create_task(write_on(begun_before(start(writing, name, "node")), say, asyncio.Event()))
            for _ in range(number % 3)
        ]
        await asyncio.sleep(dice.random() * 0.006)
        await deleting.adelete_thread(name)
        await asyncio.gather(*writers)
    for table in TABLES:
        assert rows(f"SELECT DISTINCT thread_id FROM {table}") == []


@pytest.mark.parametrize("what", ["first", "child", "writes"])
async def test_a_deletion_waits_for_a_write_that_is_under_way(open_tier, start, say, left, what):
    writing, deleting = await open_tier(), await open_tier()
    thread = start(writing)
    if what != "first":
        await thread.put(say("a"))
    made = {**empty_checkpoint(), "channel_values": {"messages": say("b")}, "channel_versions": {"messages": "2"}}
    rows = MessageRows(("messages",))
    rows.shared = False
    steps = rows.put(writing.serde, begun_before(thread).config, made, {}, {"messages": "2"})
    if what == "child":
        steps = writing._rows.put(writing.serde, thread.config, made, {}, {"messages": "2"})
    if what == "writes":
        steps = rows.put_writes(writing.serde, thread.config, [("note", ["x"])], "task", "")
    statement = next(steps)
    async with writing.conn.connection() as connection, connection.transaction():
        await connection.execute(statement.sql, statement.params)
        deletion = asyncio.create_task(deleting.adelete_thread("1"))
        await asyncio.sleep(0.2)
        assert not deletion.done()
    await deletion
    assert left("1") == [0, 0, 0, 0]


async def test_both_kinds_of_writes_are_stored_as_langgraph_does(tier, another, start, say, rows):
    thread = start(tier)
    await thread.put(say("a"))
    outputs = [("note", 1), ("__interrupt__", "x"), ("note", 2)]
    for writes in (outputs, [("note", 3)], [("__error__", "old"), ("__error__", "new")], [("__error__", "last")], []):
        await tier.aput_writes(thread.config, writes, "task", "path")
    assert rows("SELECT idx, channel, task_path FROM checkpoint_writes ORDER BY idx") == [
        (-3, "__interrupt__", "path"),
        (-1, "__error__", "path"),
        (0, "note", "path"),
        (2, "note", "path"),
    ]
    found = {(channel, str(value)) for _, channel, value in (await thread.load()).pending_writes}
    assert found == {("note", "1"), ("note", "2"), ("__interrupt__", "x"), ("__error__", "last")}
