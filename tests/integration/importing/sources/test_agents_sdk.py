"""Items of sessions of the Agents SDK, as turns."""

import json
import sqlite3
from datetime import UTC, datetime

import pytest

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow, SourceRow
from discreet.importing.sources.agents_sdk import open_agents_sdk

CALL = {"type": "function_call", "call_id": "c", "name": "look_up", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "secret row"}
REASONING = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "thinks"}]}


def user(text):
    return {"role": "user", "content": text}


def assistant(*texts):
    blocks = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": blocks}


@pytest.fixture(params=["sqlite", "postgres"])
async def session(request, tmp_path, empty_database, connection):
    """Return where sessions are, and what adds an item to one."""
    create = (
        "CREATE TABLE agent_messages (id {} PRIMARY KEY, session_id TEXT NOT NULL, message_data TEXT NOT NULL,"
        " created_at TIMESTAMP NOT NULL)"
    )
    if request.param == "sqlite":
        path = tmp_path / "sessions.db"
        file = sqlite3.connect(path, isolation_level=None)
        file.execute(create.format("INTEGER"))

        async def add(session_id, data, at="2025-01-02 03:04:05"):
            data = data if isinstance(data, str | bytes) else json.dumps(data)
            file.execute(
                "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES (?, ?, ?)",
                (session_id, data, at),
            )

        yield str(path), add
        file.close()
        return
    await connection.execute(create.format("serial"))

    async def add_row(session_id, data, at="2025-01-02 03:04:05"):
        data = data if isinstance(data, str) else json.dumps(data)
        await connection.execute(
            "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES (%s, %s, %s)",
            (session_id, data, at),
        )

    yield empty_database.replace("postgresql://", "postgresql+asyncpg://"), add_row


async def test_messages_become_turns_without_tools_and_reasoning(session, read):
    location, add = session
    items = [
        {"role": "system", "content": "Be kind."},
        user("Hi"), assistant("Hello!", "How are you?"),
        user([{"type": "input_text", "text": "Look this up"}, {"type": "input_image", "image_url": "data:"}]), user("please"),
        REASONING, CALL, RESULT, {"role": "assistant", "content": None, "tool_calls": [CALL]}, assistant("Found it."),
        user("Help me steal"), {"role": "assistant", "content": [{"type": "refusal", "refusal": "I can't."}]},
        user("Bye"),
    ]  # fmt: skip
    for number, item in enumerate(items):
        await add("s1", item, f"2025-01-02 03:04:{number:02}")
    async with open_agents_sdk(location) as source:
        assert source.name == "agents_sdk"
        rows = await read(source)
    assert [(row.record.input_text, row.record.output_text) for row in rows] == [
        ("Hi", "Hello!\nHow are you?"),
        ("Look this up\n\nplease", "Found it."),
        ("Help me steal", "I can't."),
        ("Bye", ""),
    ]
    assert all(row.user_id is row.record.user_id is None and row.record.thread_id == "s1" for row in rows)
    assert rows[1].record.started_at == datetime(2025, 1, 2, 3, 4, 3, tzinfo=UTC)
    assert rows[1].record.ended_at == datetime(2025, 1, 2, 3, 4, 9, tzinfo=UTC)
    assert len({row.record.request_id for row in rows}) == len(rows)


async def test_sessions_that_alternate_are_kept_apart(session, read):
    location, add = session
    for number in range(3):
        for name in ("user:b:1", "user:a:1", "other"):
            await add(name, user(f"{name} {number}"))
        for name in ("user:a:1", "user:b:1", "other"):
            await add(name, assistant(f"to {name} {number}"))
    async with open_agents_sdk(location, user_from="user:{user_id}:*") as source:
        rows = await read(source)
    assert [(row.user_id, row.record.input_text, row.record.output_text) for row in rows] == [
        (whose, f"{name} {number}", f"to {name} {number}")
        for whose, name in ((None, "other"), ("a", "user:a:1"), ("b", "user:b:1"))
        for number in range(3)
    ]


async def test_an_answer_that_came_after_the_import_belongs_to_the_same_turn(session):
    location, add = session
    await add("s", user("Hi"))
    async with open_agents_sdk(location) as source:
        (before,) = [row async for row in source.rows()]
    await add("s", assistant("Hello"))
    async with open_agents_sdk(location) as source:
        (after,) = [row async for row in source.rows()]
    assert before.record.request_id == after.record.request_id
    assert (before.record.output_text, after.record.output_text) == ("", "Hello")


async def test_bad_items_end_nothing_and_split_no_turn(session):
    location, add = session
    bad = [
        "{",
        "[]",
        json.dumps(user("x\0")),
        json.dumps(user(17)),
        json.dumps({"__enc__": 1, "payload": "x"}),
        '"\\ud800"',
    ]
    await add("s", user("Hi"))
    for item in bad:
        await add("s", item)
    await add("s", assistant("Hello"))
    await add("s", user("Bye"))
    async with open_agents_sdk(location) as source:
        rows = [row async for row in source.rows()]
        assert [row async for row in source.rows(after=rows[0].mark)] == rows
    assert [type(row) for row in rows] == [BadRow] * len(bad) + [SourceRow] * 2
    assert (rows[-2].record.input_text, rows[-2].record.output_text) == ("Hi", "Hello")


async def test_bytes_that_are_no_text_end_nothing(tmp_path, read):
    path = tmp_path / "sessions.db"
    with sqlite3.connect(path) as file:
        file.execute(
            "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at)"
        )
        rows = [("CAST(x'ff' AS TEXT)", '{"role": "user", "content": "a"}', 1), ("'s'", '{"role": "user", "content": "b"}', "never"),
                ("'t'", '{"role": "user", "content": "c"}', 1_735_787_045_000)]  # fmt: skip
        for name, data, at in rows:
            file.execute(
                f"INSERT INTO agent_messages (session_id, message_data, created_at) VALUES ({name}, ?, ?)", (data, at)
            )
        file.execute(
            "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES ('u', CAST(x'ff' AS TEXT), 1)"
        )
    file.close()
    async with open_agents_sdk(str(path)) as source:
        found = await read(source)
    assert [isinstance(row, BadRow) for row in found] == [True, False, True, True]
    assert found[1].record.started_at == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


async def test_a_source_of_another_kind_is_refused(tmp_path, empty_database):
    (tmp_path / "x.json").write_text("[]")
    with sqlite3.connect(tmp_path / "x.db") as file:
        file.execute("CREATE TABLE other (a)")
    file.close()
    for location in (str(tmp_path / "x.json"), str(tmp_path / "x.db"), empty_database):
        with pytest.raises(ImportSourceError):
            async with open_agents_sdk(location) as source:
                [row async for row in source.rows()]
