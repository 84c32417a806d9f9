"""What a scrub must leave as it is: data of an application, who is who, and what a running turn needs."""

import json
from functools import partial
from typing import TypedDict

import psycopg
import pytest
from kit.places import rows, snapshot
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.postgres import PostgresStore
from psycopg.types.json import Jsonb
from testkit.scanning import failures, left_in, scan, scrub, threads_of

from discreet.redaction import Redactor
from discreet.scanning.databases import Column, Row, Table
from discreet.scanning.profiles import profile_of
from discreet.scanning.scrubbing.heads import Heads
from discreet.scanning.scrubbing.saver_tables import place_of_thread

MAIL = "ann@example.com"

ORDINARY = [
    {"role": "system", "content": "Answer in one line.", "temperature": 0.2, "price": 19.90},
    {"type": "tool", "content": "A hammer", "rating": 5, "tags": ["steel", "2026-01-02"]},
    {"examples": [{"role": "user", "content": "Hi", "weight": 3}, {"role": "tool", "content": "ok", "score": 1.5}]},
    {"messages": [{"role": "tool", "content": "a template of the application", "id": 7}]},
    {
        "user_id": 123456789012345678,
        "channel_id": 4155552671,
        "order": 4155552671,
        "seen": 2147483647,
        "n": [8005551234],
    },
    {"html": "<b>Sale</b>", "order": "no. 3120052", "id": "0f8fad5b-d9cb-469f-a165-70867728950e", "at": 1764160000},
]


def query(dsn, statement):
    with psycopg.connect(dsn) as connection:
        return connection.execute(statement).fetchall()


@pytest.mark.dialect
def test_what_an_application_keeps_stays_byte_for_byte(empty_database):
    with PostgresStore.from_conn_string(empty_database) as store:
        store.setup()
        for number, value in enumerate(ORDINARY):
            store.put(("app",), str(number), value)
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE TABLE thread (thread_id text PRIMARY KEY, metadata jsonb, config json)")
        config = json.dumps({"a": 1.10, "b": ORDINARY})
        connection.execute("INSERT INTO thread VALUES ('t', %s, %s)", [Jsonb({"steps": ORDINARY}), config])
    before = snapshot(empty_database)
    assert scrub(empty_database).changed == 0
    assert snapshot(empty_database) == before


def test_examples_and_templates_in_channels_stay(empty_database):
    shots = [SystemMessage("Be brief.", id="s"), HumanMessage("2+2?", id="h"), AIMessage("4", id="a")]
    request = {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    }
    state = {"shots": shots, "prompt": SystemMessage("Be brief.", id="p"), "request": request}

    class State(TypedDict):
        shots: list
        prompt: SystemMessage
        request: dict

    builder = StateGraph(State)
    builder.add_node("ready", lambda _: {})
    builder.add_edge(START, "ready")
    with PostgresSaver.from_conn_string(empty_database) as saver:
        saver.setup()
        graph = builder.compile(checkpointer=saver)
        thread = {"configurable": {"thread_id": "one"}}
        graph.invoke(state, thread)
        scrub(empty_database)
        assert graph.get_state(thread).values == state


@pytest.mark.dialect
def test_a_structured_response_is_an_answer(empty_database):
    call = {"name": "Out", "args": {"city": "Hue"}, "id": "c1", "type": "tool_call"}
    said = [
        HumanMessage("Where?", id="h"),
        AIMessage("", tool_calls=[call], id="a"),
        ToolMessage("Returning structured response: city='Hue'", name="Out", tool_call_id="c1", id="t"),
    ]
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda _: {"messages": said[1:]})
    builder.add_edge(START, "say")
    with PostgresSaver.from_conn_string(empty_database) as saver:
        saver.setup()
        graph = builder.compile(checkpointer=saver)
        thread = {"configurable": {"thread_id": "one"}}
        graph.invoke({"messages": said[:1]}, thread)
        scrub(empty_database)
        texts = [(message.type, message.text) for message in graph.get_state(thread).values["messages"]]
    assert texts == [("human", "Where?"), ("ai", "Returning structured response: city='Hue'")]


def test_numbers_beside_a_value_stay_as_they_were_written(empty_database):
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE TABLE thread (thread_id text PRIMARY KEY, metadata json)")
        said = f'{{"mail": "{MAIL}", "price": 1.10, "wide": 12345678901234567890.123456789, "far": 1e400}}'
        connection.execute("INSERT INTO thread VALUES ('t', %s)", [said])
    scrub(empty_database)
    ((made,),) = query(empty_database, "SELECT metadata::text FROM thread")
    assert made.endswith('"price": 1.10, "wide": 12345678901234567890.123456789, "far": 1e400}')
    assert MAIL not in made


def test_two_users_stay_two(empty_database):
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(
            "CREATE TABLE mem0 (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), vector vector(2), payload jsonb)"
        )
        for name in ("ann", "bob", "ann"):
            connection.execute("INSERT INTO mem0 (payload) VALUES (%s)", [Jsonb({"user_id": f"{name}@example.com"})])
    scrub(empty_database)
    assert sorted(
        count for (count,) in query(empty_database, "SELECT count(*) FROM mem0 GROUP BY payload ->> 'user_id'")
    ) == [1, 2]
    assert scan(empty_database).types == {}


@pytest.mark.slow
@pytest.mark.dialect
async def test_a_table_that_is_named_alone_keeps_what_open_turns_need(small_copy):
    dsn, entries = small_copy
    for name in ("checkpoint_blobs", "checkpoint_writes", "checkpoints"):
        scrub(dsn, only=(name,))
    savers = {"checkpoint_blobs", "checkpoint_writes", "checkpoints"}
    assert {table for _, table in left_in(entries, rows(dsn))}.isdisjoint(savers)
    paused = [thread for thread in threads_of(entries) if thread.state == "paused"]
    assert paused
    assert await failures(dsn, paused) == {}


@pytest.mark.parametrize(
    ("label", "columns", "key", "goes", "is_open"),
    [
        ("writes of an older step", ("task_id", "idx"), {"checkpoint_id": "1"}, True, None),
        ("writes of the newest", ("task_id", "idx"), {"checkpoint_id": "5"}, False, False),
        ("writes of one that came since", ("task_id", "idx"), {"checkpoint_id": "9"}, False, True),
        ("a value of the newest", ("version",), {"version": "00000000000000000000000000000003.0.1"}, False, False),
        ("a value that came since", ("version",), {"version": "00000000000000000000000000000004.0.7"}, False, True),
    ],
)
def test_what_came_since_a_thread_was_looked_at_belongs_to_a_running_turn(label, columns, key, goes, is_open):
    heads = Heads(ids={"": "5"}, versions={("", "messages", "00000000000000000000000000000003.0.1")}, newest={"": 3})
    names = ["thread_id", "checkpoint_ns", "channel", *key]
    there = {*names, *columns, "checkpoint_id", "type", "blob"}
    profile = profile_of(there, schema="public", has_vectors=False)
    table = Table("public", "t", (), tuple(map(partial(Column, form="text"), names)), profile)
    row = Row(("t", "", "messages", *key.values()), {"channel": "messages"})
    place = place_of_thread(table, names, heads, Redactor(placeholder_key=bytes(32)).for_thread("t"), row)
    assert (place is None) is goes, label
    assert goes or place.is_open is is_open
