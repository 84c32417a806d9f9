"""Threads go some days after their last checkpoint; of those that go on older checkpoints go, and the words of older messages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.conversations import turn
from testkit.keys import USER_KEYS

from discreet.checkpoint import RedactingSaver
from discreet.checkpoint.postgres.aging import NO_LONGER_KEPT
from discreet.encryption import Keyring, make_key
from discreet.ports import RollingSummary
from discreet.storage.database.keys import digest
from discreet.storage.retention.threads import thread_sweeper

ANN = USER_KEYS.of_user("ann")
MINUTE = timedelta(minutes=1)
SHIFTED = """
UPDATE checkpoints SET checkpoint = jsonb_set(
    checkpoint, '{{ts}}', to_jsonb(to_char(
        ((checkpoint ->> 'ts')::timestamptz - interval '{by}') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'
    ))
) WHERE thread_id = '{thread}';
UPDATE checkpoint_messages SET created_at = created_at - interval '{by}' WHERE thread_id = '{thread}';
UPDATE checkpoint_threads SET oldest_at = oldest_at - interval '{by}' WHERE thread_id = '{thread}';
"""


@dataclass
class Speaker:
    user_id: str | None = None


class State(MessagesState):
    notes: list[str]


def bot(state: State) -> dict[str, Any]:
    said = str(state["messages"][-1].content)
    if "ask" in said:
        interrupt("Which one?")
    return {"messages": [("ai", f"You said: {said}")], "notes": ["a blob"]}


@pytest.fixture(params=[None])
async def saver(request, database):
    """Return a saver with a spill; a parameter says for how long it keeps finished turns there."""
    keys = Keyring([make_key()])
    async with RedactingSaver.from_conn_string(database, keys=keys, history_ttl=request.param) as saver:
        await saver.setup()
        yield saver


@pytest.fixture
def graph(saver):
    return graph_of(saver)


def graph_of(saver):
    builder = StateGraph(State, context_schema=Speaker)
    return builder.add_node("bot", bot).add_edge(START, "bot").compile(checkpointer=saver)


@pytest.fixture
async def storage(storage, saver, clock):
    """Return the storage, over a database with a checkpointer's tables; its clock says what time it is."""
    clock.now = datetime.now(UTC)
    return storage


@pytest.fixture
def shift(database):
    """Return what makes all of a thread older."""

    def run(thread, **by):
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(SHIFTED.format(by=f"{timedelta(**by).total_seconds()} seconds", thread=thread))

    return run


def of(thread):
    return {"configurable": {"thread_id": thread}}


async def say(graph, text, thread="t", user="ann"):
    return await graph.ainvoke({"messages": [("user", text)]}, of(thread), context=Speaker(user))


async def told(graph, thread="t"):
    return [message.content for message in (await graph.aget_state(of(thread))).values.get("messages", [])]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("saver", [None, 900 * 86_400], indirect=True)
@pytest.mark.parametrize("days", [30, 60])
async def test_a_thread_stays_for_its_days_after_its_last_checkpoint(storage, clock, graph, rows, days):
    await storage.memory_settings.change({"retention_checkpoint_days": days}, by="u_admin")
    await say(graph, "Hello")
    for after in (timedelta(days=days - 1), timedelta(days=days) - MINUTE):
        clock.now = datetime.now(UTC) + after
        assert dict(await storage.retention.sweep()) == {}
        assert len(await told(graph)) == 2
    clock.now = datetime.now(UTC) + timedelta(days=days) + MINUTE
    assert (await storage.retention.sweep())["threads"] == 1
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_messages", "checkpoint_spill"):
        assert rows(f"SELECT count(*) FROM {table}") == [(0,)], table


@pytest.mark.slow
async def test_whatever_the_ages_just_the_older_threads_go(storage, graph, shift):
    drawn = []

    @settings(max_examples=2, database=None)
    @given(st.lists(st.integers(0, 60 * 24), min_size=4, max_size=8, unique=True))
    def draw(hours):
        drawn.append(hours)

    draw()
    for number, ages in enumerate(drawn):
        for age in ages:
            await say(graph, "Hello", thread=f"{number} {age}")
            shift(f"{number} {age}", hours=age, minutes=5)
        storage.retention._batch = 1 + number
        gone = await storage.retention.sweep()
        assert gone.get("threads", 0) == sum(age >= 30 * 24 for age in ages)
        left = {age for age in ages if await told(graph, f"{number} {age}")}
        assert left == {age for age in ages if age < 30 * 24}


@pytest.mark.slow
async def test_what_else_there_is_of_a_thread_goes_with_it_and_the_log_in_its_own_time(storage, graph, shift, rows):
    await storage.memory_settings.change({"retention_log_days": 90}, by="u_admin")
    for thread in ("t", "other"):
        await say(graph, "Hello", thread=thread)
        summary = RollingSummary(text="Greetings", rounds=1, last_message_id="m")
        await storage.summaries.commit("ann", thread, expected=RollingSummary(), new=summary)
        rows("INSERT INTO discreet.forgotten_round VALUES (%s, %s, 'r', now())", ANN, digest(thread))
        await storage.log.append(turn(f"in {thread}", "Hello", thread=thread))
    shift("t", days=31)
    assert dict(await storage.retention.sweep()) == {"threads": 1, "summaries": 1}
    assert rows("SELECT thread_id FROM discreet.rolling_summary") == [("other",)]
    assert rows("SELECT thread_key FROM discreet.forgotten_round") == [(digest("other"),)]
    assert len(await storage.log.read("ann")) == 2


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_session_record_whose_log_is_gone_goes_with_the_thread(storage, graph, shift, rows):
    await say(graph, "Hello")
    await storage.log.append(turn("r", "Hello", thread="t"))
    rows("DELETE FROM discreet.conversation_log")
    shift("t", days=31)
    assert dict(await storage.retention.sweep()) == {"threads": 1, "sessions": 1}


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_thread_that_goes_on_keeps_its_newest_state_without_the_words_of_old_messages(
    storage, graph, saver, shift, rows
):
    await say(graph, "first")
    shift("t", days=25)
    await say(graph, "second")
    shift("t", days=20)
    await say(graph, "third")
    before = len([item async for item in saver.alist(of("t"))])
    gone = await storage.retention.sweep()
    assert (gone["messages"], gone["checkpoints"]) == (2, before - len([item async for item in saver.alist(of("t"))]))
    assert 0 < gone["checkpoints"] < before
    expected = [NO_LONGER_KEPT, NO_LONGER_KEPT, "second", "You said: second", "third", "You said: third"]
    assert await told(graph) == expected
    assert dict(await storage.retention.sweep()) == {}
    await say(graph, "fourth")
    assert await told(graph) == [*expected, "fourth", "You said: fourth"]
    shift("t", days=11)
    assert (await storage.retention.sweep())["messages"] == 2
    assert await told(graph) == [*[NO_LONGER_KEPT] * 4, *expected[4:], "fourth", "You said: fourth"]
    assert rows("SELECT count(*) FROM checkpoint_messages WHERE content LIKE '%%second%%'") == [(0,)]


@pytest.mark.slow
async def test_whatever_the_ages_of_turns_nothing_old_is_left_but_the_newest_state(storage, graph, shift, rows):
    drawn = []

    @settings(max_examples=3, database=None)
    @given(st.lists(st.integers(0, 25), min_size=2, max_size=6))
    def draw(gaps):
        drawn.append(gaps)

    draw()
    for number, gaps in enumerate(drawn):
        thread = f"t{number}"
        for n, gap in enumerate(gaps):
            shift(thread, days=gap, hours=1)
            await say(graph, f"turn {n}", thread=thread)
        ages = [timedelta(days=sum(gaps[n + 1 :]), hours=len(gaps) - n - 1) for n in range(len(gaps))]
        await storage.retention.sweep()
        texts = [f"turn {n}" if age < timedelta(days=30) else NO_LONGER_KEPT for n, age in enumerate(ages)]
        assert (await told(graph, thread))[::2] == texts
        old = "SELECT count(*) FROM checkpoints WHERE thread_id = %s AND (checkpoint ->> 'ts')::timestamptz < now() - interval '30 days'"
        assert rows(old, thread) == [(0,)]
        [(oldest_at,)] = rows("SELECT oldest_at FROM checkpoint_threads WHERE thread_id = %s", thread)
        assert datetime.now(UTC) - oldest_at < timedelta(days=30)


@pytest.mark.slow
@pytest.mark.parametrize("saver", [None, 86_400], indirect=True)
async def test_what_a_process_has_in_its_memory_does_not_bring_old_words_back(storage, graph, shift, rows):
    await say(graph, "first")
    shift("t", days=40)
    await say(graph, "second")
    await storage.retention.sweep()
    await say(graph, "third")  # by a saver that knows the rows as they were
    assert rows("SELECT count(*) FROM checkpoint_messages WHERE content LIKE '%%first%%'") == [(0,)]


@pytest.mark.slow
async def test_a_paused_thread_stays_as_long_as_its_pause(storage, clock, saver, database):
    storage.retention.add(thread_sweeper(storage.works_pool, pause_seconds=40 * 86_400.0))
    async with RedactingSaver.from_conn_string(database, pause_seconds=40 * 86_400.0) as patient:
        graph = graph_of(patient)
        await say(graph, "Please ask")
        begun = datetime.now(UTC)
        clock.now = begun + timedelta(days=39)
        assert dict(await storage.retention.sweep()) == {}
        answered = await graph.ainvoke(Command(resume="this one"), of("t"), context=Speaker("ann"))
        assert answered["messages"][-1].content == "You said: Please ask"
        await say(graph, "Please ask again")
        clock.now = datetime.now(UTC) + timedelta(days=41)
        assert (await storage.retention.sweep())["threads"] == 1


async def test_a_spilled_pause_keeps_its_thread_whatever_this_process_thinks_a_pause_is(storage, clock, graph, rows):
    await say(graph, "Please ask")
    clock.now = datetime.now(UTC) + timedelta(days=31)
    rows("UPDATE checkpoint_spill SET expires_at = %s", clock.now + MINUTE)
    assert dict(await storage.retention.sweep()) == {}
    clock.now += 2 * MINUTE
    gone = await storage.retention.sweep()
    assert gone["threads"] == 1
    assert rows("SELECT count(*) FROM checkpoint_spill") == [(0,)]


@pytest.mark.slow
@pytest.mark.dialect
async def test_pauses_that_are_over_and_marks_of_deleted_threads_go(storage, clock, graph, saver, rows):
    await say(graph, "Please ask")
    await say(graph, "Hello", thread="deleted")
    await saver.adelete_thread("deleted")
    clock.now = datetime.now(UTC) + timedelta(minutes=59)
    assert dict(await storage.retention.sweep()) == {}
    clock.now = datetime.now(UTC) + timedelta(minutes=61)
    assert dict(await storage.retention.sweep()) == {"pauses": 1}
    clock.now = datetime.now(UTC) + timedelta(hours=24, minutes=1)
    assert dict(await storage.retention.sweep()) == {"deletions": 1}
    assert rows("SELECT thread_id FROM checkpoint_threads") == [("t",)]


async def test_a_dry_run_counts_what_a_sweep_does_and_changes_nothing(storage, graph, shift):
    await say(graph, "old", thread="old")
    shift("old", days=50)
    await say(graph, "first")
    shift("t", days=40)
    await say(graph, "second")
    due = {each.kind: each.rows for each in await storage.retention.due() if each.rows}
    oldest = {each.kind: datetime.now(UTC) - each.oldest for each in await storage.retention.due() if each.rows}
    assert len(await told(graph, "old")) == 2
    assert due == dict(await storage.retention.sweep())
    assert due.keys() == {"threads", "checkpoints", "messages"}
    assert (oldest["threads"].days, oldest["messages"].days) == (50, 40)


async def test_a_thread_that_somebody_stores_in_is_left_for_the_next_time(storage, graph, shift, database):
    await say(graph, "Hello")
    shift("t", days=31)
    with psycopg.connect(database) as storing:
        storing.execute("SELECT FROM checkpoint_threads WHERE thread_id = 't' FOR SHARE")
        assert dict(await storage.retention.sweep()) == {}
    assert (await storage.retention.sweep())["threads"] == 1


async def test_a_thread_that_went_can_begin_anew(storage, graph, shift, rows):
    await say(graph, "Hello")
    shift("t", days=31)
    await storage.retention.sweep()
    await say(graph, "Here I am again")
    assert await told(graph) == ["Here I am again", "You said: Here I am again"]
    assert dict(await storage.retention.sweep()) == {}
    assert rows("SELECT user_key FROM checkpoint_threads") == [(ANN,)]


@pytest.mark.slow
async def test_several_at_once_let_each_thread_go_once(storage, graph, shift):
    for n in range(6):
        await say(graph, "Hello", thread=f"{n}")
        shift(f"{n}", days=31)
    gone = await asyncio.gather(*(storage.retention.sweep() for _ in range(3)))
    assert sum(each.get("threads", 0) for each in gone) + (await storage.retention.sweep()).get("threads", 0) == 6


async def test_a_copy_is_as_old_as_what_it_was_copied_from(storage, saver, graph, shift):
    await say(graph, "Hello")
    shift("t", days=31)
    await saver.acopy_thread("t", "copy")
    assert (await storage.retention.sweep())["threads"] == 2


async def test_threads_that_only_another_saver_stored_in_are_left_alone(storage, clock, database):
    async with AsyncPostgresSaver.from_conn_string(database) as stock:
        await say(graph_of_stock(stock), "Hello", thread="theirs")
        clock.now = datetime.now(UTC) + timedelta(days=400)
        await storage.retention.sweep()
        assert await stock.aget_tuple(of("theirs")) is not None


def graph_of_stock(stock):
    builder = StateGraph(State, context_schema=Speaker)
    return builder.add_node("bot", lambda _: {"notes": []}).add_edge(START, "bot").compile(checkpointer=stock)


@pytest.mark.slow
async def test_checkpoints_stay_that_one_of_a_stock_savers_delta_channel_is_made_of(
    storage, database, graph, rows, shift
):
    await say(graph, "Hello")
    async with AsyncPostgresSaver.from_conn_string(database) as stock:
        await say(graph_of_stock(stock), "Theirs")
        shift("t", days=40)
        await say(graph_of_stock(stock), "Theirs again")
    rows("""
        UPDATE checkpoints SET metadata = metadata || '{"counters_since_delta_snapshot": {"log": [1, 1]}}'
        WHERE checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints)
    """)
    made = rows("SELECT count(*) FROM checkpoints")
    assert "checkpoints" not in await storage.retention.sweep()
    assert rows("SELECT count(*) FROM checkpoints") == made
    assert rows("SELECT oldest_at >= now() - interval '30 days' FROM checkpoint_threads") == [(True,)]
    shift("t", days=31)
    await say(graph, "Ours")
    assert (await storage.retention.sweep())["checkpoints"] >= made[0][0]


async def test_a_database_without_a_checkpointer_has_nothing_to_sweep(empty_database, clock):
    from discreet.storage import open_storage
    from discreet.testing import StubEmbeddings

    async with open_storage(empty_database, embeddings=StubEmbeddings(dims=16), maintained=False) as storage:
        assert "threads" not in await storage.retention.sweep()
        assert "threads" not in {each.kind for each in await storage.retention.due()}


@pytest.mark.slow
async def test_tables_in_a_schema_that_is_named_are_swept(storage, database, rows):
    async with RedactingSaver.from_conn_string(database, schema="elsewhere") as saver:
        await saver.setup()
        await say(graph_of(saver), "Hello")
        rows("UPDATE elsewhere.checkpoint_threads SET oldest_at = now() - interval '40 days'")
        rows(
            "UPDATE elsewhere.checkpoints SET checkpoint = jsonb_set(checkpoint, '{ts}', '\"2020-01-01T00:00:00+00:00\"')"
        )
        assert "threads" not in await storage.retention.sweep()
        storage.retention.add(thread_sweeper(storage.works_pool, pause_seconds=3_600, schema="elsewhere"))
        assert (await storage.retention.sweep())["threads"] == 1
