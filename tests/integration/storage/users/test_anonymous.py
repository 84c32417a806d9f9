"""What is said without a user_id has a key and a time of its own."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from testkit.keys import USER_KEYS

from discreet.ports import RollingSummary
from discreet.settings import Settings
from discreet.state.records import TurnRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def turn(user_id, thread_id, request_id="r"):
    return TurnRecord(
        request_id=request_id,
        user_id=user_id,
        thread_id=thread_id,
        input_text="Hi",
        output_text="Hello",
        started_at=NOON,
        ended_at=NOON,
    )


@pytest.fixture
async def storage(database):
    settings = Settings(anonymous_days=7, reembed=False)
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=settings) as opened:
        yield opened


def users(dsn):
    with psycopg.connect(dsn) as connection:
        found = connection.execute("SELECT user_key, expires_at - now() < interval '7 days' FROM discreet.users")
        return dict(found.fetchall())


async def test_each_thread_has_a_key_and_an_end_of_its_own(storage):
    for user_id, thread_id in [(None, "1"), (None, "2"), ("ann", "1")]:
        await storage.log.append(turn(user_id, thread_id))
    keys = {USER_KEYS.of_thread("1"): True, USER_KEYS.of_thread("2"): True, USER_KEYS.of_user("ann"): None}
    assert users(storage.dsn) == keys


async def test_all_of_it_goes_when_its_time_is_over_and_nothing_else(storage):
    await storage.log.append(turn(None, "1"))
    await storage.log.append(turn("ann", "1"))
    new = RollingSummary(text="Greetings", rounds=1, last_message_id="m")
    await storage.summaries.commit(None, "1", expected=RollingSummary(), new=new)
    assert "anonymous" not in await storage.retention.sweep()
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("UPDATE discreet.users SET expires_at = now() WHERE expires_at IS NOT NULL")
    assert (await storage.retention.sweep())["anonymous"] == 1
    assert list(users(storage.dsn)) == [USER_KEYS.of_user("ann")]
    assert await storage.summaries.get(None, "1") == RollingSummary()
    assert await storage.log.append(turn(None, "1")), "the thread begins anew"
