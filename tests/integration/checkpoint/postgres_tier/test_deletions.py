"""Deleting, copying and pruning: what is still used stays, and of the rest no row."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import tuple_row

from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.postgres import CONNECTION, copying, deletions, prunes
from discreet.checkpoint.pruning import Row
from discreet.errors import CheckpointError

CONTENTS = "SELECT thread_id, content FROM checkpoint_messages ORDER BY 1, position"
TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_messages")


@pytest.fixture
def left(rows):
    """Return what counts the rows of each table that belong to a thread."""

    def count(thread_id):
        return [rows(f"SELECT count(*) FROM {table} WHERE thread_id = %s", thread_id)[0] for table in TABLES]

    return count


@pytest.mark.fast_cases(2)
async def test_a_deleted_thread_leaves_no_row_and_its_neighbour_all(tier, start, say, left):
    for thread in (start(tier, "1"), start(tier, "1", "node"), start(tier, "2")):
        await thread.put(say("a", "b"), note=["x"])
        await tier.aput_writes(thread.config, [("note", ["y"])], "task")
    await tier.adelete_thread("1")
    assert (left("1"), left("2")) == ([0, 0, 0, 0], [1, 1, 1, 2])


async def test_a_run_takes_its_own_messages_with_it(tier, start, say, rows, left):
    thread, kept, gone = start(tier), str(uuid4()), str(uuid4())
    await thread.put(first := say("a", "b"), run_id=kept)
    await thread.put([first[0], *say("edited", "c")], run_id=gone)
    await tier.aput_writes(thread.config, [("note", ["y"])], "task")
    await tier.adelete_for_runs([gone, str(uuid4())])
    assert await thread.read() == first
    assert rows(CONTENTS) == [("1", "a"), ("1", "b")]
    assert left("1") == [1, 0, 0, 2]


async def test_messages_that_a_later_run_shares_stay(tier, start, say, rows):
    thread, gone, kept = start(tier), str(uuid4()), str(uuid4())
    await thread.put(first := say("a", "b", "c"), run_id=gone)
    await thread.put(second := [first[0], first[2], *say("d")], run_id=kept)
    await tier.adelete_for_runs([gone])
    assert rows(CONTENTS) == [("1", "a"), ("1", "c"), ("1", "d")]
    found = await thread.load()
    assert (found.checkpoint["channel_values"]["messages"], found.parent_config) == (second, None)
    await thread.put(third := [*second, *say("e")])
    assert await thread.read() == third


async def test_deleting_runs_leaves_other_threads_and_other_namespaces_alone(tier, start, say, rows):
    run = str(uuid4())
    await start(tier, "1").put(say("a"), run_id=run)
    await start(tier, "1", "node").put(say("b"), run_id=str(uuid4()))
    await start(tier, "2").put(say("c"))
    await tier.adelete_for_runs([run])
    assert rows(CONTENTS) == [("1", "b"), ("2", "c")]
    await tier.adelete_for_runs([])
    assert rows(CONTENTS) == [("1", "b"), ("2", "c")]


async def test_a_run_takes_its_messages_with_it_whatever_other_namespaces_and_channels_keep(
    open_tier, start, say, rows
):
    """Rows are counted from nought in each of them, so the same positions are kept elsewhere."""
    tier, kept, gone = await open_tier(message_channels=("messages", "other")), str(uuid4()), str(uuid4())
    whole, inner = start(tier), start(tier, ns="node")
    await whole.put(other=(first := say("a")), run_id=kept)
    await whole.put(say("gone"), other=first, run_id=gone)
    await inner.put(second := say("b"), run_id=kept)
    await inner.put([*second, *say("gone")], run_id=gone)
    await tier.adelete_for_runs([gone])
    assert rows("SELECT checkpoint_ns, channel, content FROM checkpoint_messages ORDER BY 1, 2, position") == [
        ("", "other", "a"),
        ("node", "messages", "b"),
    ]


async def test_after_a_deleted_run_the_thread_goes_on_from_what_is_left(tier, another, start, say):
    thread, gone = start(tier), str(uuid4())
    await thread.put(first := say("a", "b"))
    before = thread.config
    await thread.put([*first, *say("c")], run_id=gone)
    await another.adelete_for_runs([gone])
    thread.config = before
    await thread.put(value := [*first, *say("d")])
    assert await thread.read() == value


async def test_a_copy_has_its_own_rows(tier, start, say, rows):
    source = start(tier, "1")
    await source.put(value := say("a", "b"), note=["x"])
    await source.put(longer := [*value, *say("c")])
    await tier.aput_writes(source.config, [("note", ["y"])], "task")
    await tier.acopy_thread("1", "2")
    await tier.acopy_thread("1", "2")
    copy = start(tier, "2")
    assert await copy.read() == longer
    assert (await copy.load()).pending_writes == [("task", "note", ["y"])]
    copy.config = (await copy.load()).config
    await copy.put([*longer, *say("d")])
    await tier.adelete_thread("1")
    assert rows(CONTENTS) == [("2", "a"), ("2", "b"), ("2", "c"), ("2", "d")]
    assert len(await copy.read()) == 4


async def test_nothing_is_copied_over_other_messages(tier, start, say, rows):
    await start(tier, "1").put(say("a"))
    await start(tier, "2").put(say("b"))
    before = rows("SELECT c.*::text, m.*::text FROM checkpoints c, checkpoint_messages m ORDER BY 1, 2")
    with pytest.raises(CheckpointError, match="not copied"):
        await tier.acopy_thread("1", "2")
    assert rows("SELECT c.*::text, m.*::text FROM checkpoints c, checkpoint_messages m ORDER BY 1, 2") == before


async def test_a_thread_that_is_not_there_copies_to_nothing(tier, rows):
    await tier.acopy_thread("1", "2")
    assert rows("SELECT * FROM checkpoints") == []


@pytest.mark.fast_cases(2)
async def test_pruning_to_the_latest_keeps_its_messages_alone(tier, start, say, rows, left):
    thread, sub, other = start(tier), start(tier, ns="node"), start(tier, "2")
    await thread.put(first := say("a", "b", "c"))
    await thread.put(latest := [first[0], *say("d")])
    for value in (first, latest):
        await sub.put(value)
        await other.put(value)
    await tier.aprune(["1"])
    assert rows(
        "SELECT checkpoint_ns, content FROM checkpoint_messages WHERE thread_id = '1' ORDER BY 1, position"
    ) == [
        ("", "a"),
        ("", "d"),
        ("node", "a"),
        ("node", "d"),
    ]
    assert left("2")[3] == 4
    assert await thread.read() == latest
    await thread.put(longer := [*latest, *say("e")])
    assert await thread.read() == longer


@pytest.mark.fast_cases(2)
async def test_after_pruning_a_thread_whose_head_is_ours_nothing_of_a_stock_saver_is_left(tier, start, say, rows, left):
    """Whatever namespaces it used, with the writes and blobs that no checkpoint has."""
    thread, sub, call = start(tier), start(tier, ns="node"), start(tier, ns="tools:7")
    await thread.put(first := say("a"), note=["old"])
    await tier.aput_writes(thread.config, [("note", ["y"])], "task")
    await sub.put(first, note=["z"])
    await call.put(first, note=["z"])
    rows(
        "INSERT INTO checkpoint_blobs VALUES ('1', '', 'note', 'lost', 'msgpack', 'x'), ('1', 'gone', 'n', '1', 'm', 'x')"
    )
    rows(
        "INSERT INTO checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, blob)"
        " VALUES ('1', '', '00000000-lost', 't', 0, 'note', 'x')"
    )
    thread.ours = True
    await thread.put(latest := say("b"), note=["new"])
    await tier.aprune(["1"])
    assert left("1") == [1, 1, 0, 1]
    assert rows("SELECT content FROM checkpoint_messages") == ["b"]
    found = await thread.load()
    assert (found.checkpoint["channel_values"]["messages"], found.parent_config) == (latest, None)


@pytest.mark.fast_cases(3)
async def test_namespaces_that_are_stored_stay_with_the_newest_of_each(tier, start, say, rows):
    thread, sub = start(tier), start(tier, ns="node")
    thread.ours = sub.ours = True
    for text in "ab":
        await sub.put(say(text))
        await thread.put(say(text))
    await tier.aprune(["1"], keeps=lambda ns: ns in ("", "node"))
    assert rows("SELECT checkpoint_ns, content FROM checkpoint_messages ORDER BY 1") == [("", "b"), ("node", "b")]


@pytest.mark.fast_cases(2)
async def test_a_delta_channel_whose_value_is_its_history_is_not_pruned(tier, start, say, left):
    stock, ours = start(tier, "1"), start(tier, "2")
    ours.ours = True
    for thread in (stock, ours):
        await thread.put(say("a"))
        thread.metadata = {"counters_since_delta_snapshot": {"log": [1, 1]}}
        await thread.put(say("b"))
    with pytest.raises(NotImplementedError):
        await tier.aprune(["2", "1"])
    assert (left("1")[0], left("2")[0]) == (2, 2)
    await tier.aprune(["2"])
    assert left("2") == [1, 0, 0, 1]


@pytest.mark.fast_cases(2)
async def test_pruning_by_deletion_leaves_nothing(tier, start, say, left):
    for name in ("1", "2", "3"):
        await start(tier, name).put(say("a"), note=["x"])
    await tier.aprune(["1", "2"], strategy="delete")
    assert [left(name) for name in ("1", "2", "3")] == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 1]]
    await tier.aprune([], strategy="delete")
    await tier.aprune([])


@pytest.mark.parametrize("strategy", ["delete", "keep_latest"])
async def test_pruning_takes_a_list_and_a_known_strategy(another, start, say, left, strategy):
    await start(another, "1").put(say("a"))
    with pytest.raises(TypeError):
        await another.aprune("1", strategy=strategy)
    with pytest.raises(ValueError, match="nonsense"):
        await another.aprune(["1"], strategy="nonsense")
    assert left("1") == [1, 0, 0, 1]


FILL = (
    """
    INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
    SELECT 'thread-' || t, '', 'c' || c,
        jsonb_build_object(
            'v', 4, 'channel_versions', jsonb_build_object('log', 'v' || c),
            'message_rows', jsonb_build_array(jsonb_build_array('messages', 0, c))
        ),
        jsonb_build_object('run_id', 'run-' || t || '-' || c)
    FROM generate_series(1, 5000) t, generate_series(0, 3) c
    """,
    """
    INSERT INTO checkpoint_messages (thread_id, checkpoint_ns, channel, position, kind, content)
    SELECT 'thread-' || t, '', 'messages', c, 'human', 'hello' FROM generate_series(1, 5000) t, generate_series(0, 3) c
    """,
    """
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT 'thread-' || t, '', 'log', 'v' || c, 'msgpack', '' FROM generate_series(1, 5000) t, generate_series(0, 3) c
    """,
    """
    INSERT INTO checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
    SELECT 'thread-' || t, '', 'c' || c, 'task', 0, 'log', 'msgpack', ''
    FROM generate_series(1, 5000) t, generate_series(0, 3) c
    """,
    "INSERT INTO checkpoint_threads SELECT 'thread-' || t, gen_random_uuid(), now() FROM generate_series(1, 20000) t",
    "ANALYZE",
)


@pytest.fixture
def filled(dsn):
    """Fill all tables, and give back what so many rows took."""
    with psycopg.connect(dsn, **{**CONNECTION, "row_factory": tuple_row}) as connection:
        for statement in FILL:
            connection.execute(statement)
        yield connection
        connection.execute(f"TRUNCATE {', '.join(TABLES)}, checkpoint_threads")
        connection.execute("ANALYZE")


@pytest.mark.slow
def test_no_statement_reads_a_whole_table(filled, another):
    """20,000 rows in each; a table that small is still read whole if no index serves."""
    where = " WHERE thread_id = %(id)s AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1"
    statements = {
        "select": (another.SELECT_SQL + where, {"id": "thread-7"}),
        "threads_of_runs": next(deletions.delete_for_runs(["run-7-3", "run-9-3"]))[:2],
        "delete_for_runs": (
            deletions._DELETE_FOR_RUNS,
            {"thread_id": "thread-7", "run_ids": ["run-7-3", "run-9-3"]},
        ),
        "delete_threads": next(deletions.delete_threads(["thread-7"]))[:2],
        "prune_rows": prunes.prune_rows("thread-7", [Row("thread-7", CheckpointRef("", "c2"), None)])[:2],
        "copy_thread": next(copying.copy_thread("thread-7", "copy"))[:2],
    }
    plans = {
        name: [line for (line,) in filled.execute(f"EXPLAIN {query}", params)]
        for name, (query, params) in statements.items()
    }
    for name, plan in plans.items():
        assert [line for line in plan if "Seq Scan" in line] == [], name
    assert any("checkpoints_run_id_idx" in line for line in plans["threads_of_runs"])
    assert any("Index Scan using checkpoint_messages_pkey" in line for line in plans["select"])
