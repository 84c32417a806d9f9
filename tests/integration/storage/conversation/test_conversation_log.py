"""The conversation log and the session records."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.errors import InvalidUserError, StorageUnavailableError
from discreet.redaction import redact
from discreet.state.records import TurnRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

MAIL = "ann" + "@" + "example.com"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def turn(request_id="r-1", **values):
    given = {"user_id": "ann", "thread_id": "thread", "input_text": "Hi", "output_text": "Hello", "started_at": NOON}
    return TurnRecord(request_id=request_id, **{**given, "ended_at": NOON + timedelta(seconds=2), **values})


def rows(dsn, query):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


async def test_a_turn_is_logged_redacted(storage):
    assert await storage.log.append(
        turn(
            input_text=f"Write to {MAIL}",
            output_text=f"I wrote to {MAIL}",
            modality="voice",
            media=[{"mime": "audio/ogg", "durationMs": 1200}, {"mime": "image/png", "tags": ["a card", MAIL]}],
            is_emergency=True,
            agent_id="agent",
        )
    )
    columns = (
        "request_id, app_name, agent_id, modality, media, input_text, output_text, is_emergency, started_at, ended_at"
    )
    assert rows(storage.dsn, f"SELECT {columns} FROM discreet.conversation_log") == [
        (
            "r-1",
            "default",
            "agent",
            "voice",
            [{"mime": "audio/ogg", "durationMs": 1200}, {"mime": "image/png", "tags": ["a card", "<EMAIL>"]}],
            "Write to <EMAIL>",
            "I wrote to <EMAIL>",
            True,
            NOON,
            NOON + timedelta(seconds=2),
        )
    ]


async def test_of_a_message_that_is_answered_anew_the_later_answer_stands(storage):
    assert await storage.log.append(turn())
    assert not await storage.log.append(turn(output_text="Hello again", ended_at=NOON + timedelta(seconds=9)))
    logged = rows(storage.dsn, "SELECT input_text, output_text, ended_at FROM discreet.conversation_log")
    assert logged == [("Hi", "Hello again", NOON + timedelta(seconds=9))]
    assert rows(storage.dsn, "SELECT rounds FROM discreet.session_record") == [(1,)]


async def test_the_request_of_somebody_else_is_never_replaced(storage):
    assert await storage.log.append(turn())
    assert await storage.log.append(turn(user_id="bob", output_text="Bob's"))
    assert not await storage.log.append(turn(thread_id="another", output_text="Moved"))
    assert rows(storage.dsn, "SELECT output_text FROM discreet.conversation_log ORDER BY 1") == [("Bob's",), ("Hello",)]


async def test_a_request_that_is_sent_many_times_at_once_is_logged_once(storage):
    logged = await asyncio.gather(*(storage.log.append(turn()) for _ in range(12)))
    assert logged.count(True) == 1
    assert rows(storage.dsn, "SELECT rounds FROM discreet.session_record") == [(1,)]


async def test_a_session_spans_its_turns(storage):
    await asyncio.gather(
        *(
            storage.log.append(turn(f"r-{n}", ended_at=NOON + timedelta(minutes=n), started_at=NOON))
            for n in range(1, 9)
        )
    )
    assert rows(storage.dsn, "SELECT thread_id, started_at, ended_at, rounds FROM discreet.session_record") == [
        ("thread", NOON, NOON + timedelta(minutes=8), 8)
    ]


async def test_two_users_in_one_thread_have_a_session_each(storage):
    for number, user_id in enumerate(["ann", "bob", None]):
        await storage.log.append(turn(f"r-{number}", user_id=user_id))
    assert rows(storage.dsn, "SELECT rounds FROM discreet.session_record") == [(1,)] * 3
    keys = {USER_KEYS.of_user("ann"), USER_KEYS.of_user("bob"), USER_KEYS.of_thread("thread")}
    assert {user_key for (user_key,) in rows(storage.dsn, "SELECT user_key FROM discreet.users")} == keys
    assert len(rows(storage.dsn, "SELECT FROM discreet.users WHERE expires_at > now() + interval '29 days'")) == 1


async def test_a_megabyte_and_characters_that_cannot_be_stored_are_no_trouble(storage):
    assert await storage.log.append(turn(input_text="word " * 200_000, output_text="a\0b\ud800", thread_id="t" * 9_000))
    [(stored, output)] = rows(storage.dsn, "SELECT input_text, output_text FROM discreet.conversation_log")
    assert stored == redact("word " * 200_000)
    assert output.startswith("ab")


async def test_a_user_id_that_cannot_be_used_is_refused(storage):
    with pytest.raises(InvalidUserError):
        await storage.log.append(turn(user_id=" "))


async def test_a_closed_pool_is_unavailable(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        pass
    with pytest.raises(StorageUnavailableError):
        await storage.log.append(turn())
