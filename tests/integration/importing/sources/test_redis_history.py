"""V1's history in Redis, as turns."""

import hashlib
import json
from datetime import UTC, datetime

import pytest
import redis

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow
from discreet.importing.sources.redis_history import PAGE, open_redis_history
from discreet.storage.short_term.redis_keys import session_keys

AT = datetime(2025, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


def said(text="I can't sleep", **changed):
    rid = hashlib.sha1(text.encode()).hexdigest()
    return {"input": text, "output": "Try tea.", "rid": rid, "timestamp": round(AT.timestamp() * 1000)} | changed


@pytest.fixture
def v1(redis_url):
    with redis.Redis.from_url(redis_url) as client:

        def add(user_id, *rounds):
            key = f"session:{user_id}:history".encode() if isinstance(user_id, str) else user_id
            client.rpush(key, *(r if isinstance(r, bytes) else json.dumps(r) for r in rounds))

        add.client = client
        yield add


async def test_rounds_become_turns_in_pages_and_nothing_is_written(redis_url, v1, read):
    rounds = [said(f"text {number}") for number in range(2 * PAGE + 7)]
    v1("U1", *rounds)
    v1("U2", said(is_emergency=True))
    v1.client.set("session:U1:summary:text", "A summary")
    v1.client.set("session:U1:summary:rounds", "5")
    v1.client.set("session:U1:state", "ACTIVE")
    before = {key: v1.client.dump(key) for key in v1.client.scan_iter()}
    async with open_redis_history(redis_url) as source:
        rows = await read(source, resumed=False)
        marks = [row.mark for row in rows]
        for number in (0, PAGE - 1, PAGE, PAGE + 1, len(rows) - 2, len(rows) - 1):
            assert [row async for row in source.rows(after=marks[number])] == rows[number + 1 :]
    assert {key: v1.client.dump(key) for key in v1.client.scan_iter()} == before
    assert marks == sorted(marks)
    assert not any("U1" in mark for mark in marks)
    of_one = [row.record for row in rows if row.user_id == "U1"]
    assert [(turn.request_id, turn.input_text, turn.output_text) for turn in of_one] == [
        (item["rid"], item["input"], item["output"]) for item in rounds
    ]
    assert {(turn.started_at, turn.ended_at, turn.is_emergency) for turn in of_one} == {(AT, AT, False)}
    assert [row.record.is_emergency for row in rows if row.user_id == "U2"] == [True]


async def test_users_may_have_colons_and_our_own_sessions_are_left_out(redis_url, v1, read):
    users = ["line:U1", "a:b:c", "thread", "năm"]
    for user_id in users:
        v1(user_id, said())
    keys = session_keys("alice", "thread-1")
    v1.client.rpush(keys.history, json.dumps(said()))
    v1.client.sadd(keys.requests, "x")
    async with open_redis_history(redis_url, thread_id="old") as source:
        rows = await read(source)
    assert sorted(row.user_id for row in rows) == sorted(users)
    assert {row.record.thread_id for row in rows} == {"old"}


async def test_bad_rounds_and_keys_end_nothing(redis_url, v1, read):
    broken = [b"{", b"[]", b"\xff", said(rid=None), said(input=7), said(timestamp="soon"), said(timestamp=10**30),
              said(timestamp=True), said("a\0b"), b'{"input": "\\ud800"}', said(timestamp=-(10**15))]  # fmt: skip
    v1("U1", *broken, said())
    v1.client.set("session:U2:history", "no list")
    v1(b"session:\xff:history", said())
    async with open_redis_history(redis_url) as source:
        rows = await read(source)
    keys = {row.key: row.reason for row in rows if getattr(row, "reason", "").startswith("key: ")}
    assert keys == {b"session:U2:history": "key: no list", b"session:\xff:history": "key: not UTF-8"}
    of_one = [row for row in rows if getattr(row, "key", None) not in keys]
    assert [isinstance(row, BadRow) for row in of_one] == [True] * len(broken) + [False]
    assert {row.key for row in of_one[:-1]} == {b"session:U1:history"}
    assert len(rows) == len(of_one) + len(keys)


async def test_rounds_with_one_rid_are_told_apart_wherever_an_import_goes_on(redis_url, v1, read):
    v1("U1", said("one", rid="same"), said("two", rid="same"), said("one", rid="same"), said("three", rid="same"))
    async with open_redis_history(redis_url) as source:
        rows = await read(source)
        assert [row.record.request_id for row in rows] == ["same", "same#2", "same", "same#3"]
        assert [row async for row in source.rows(after=rows[1].mark)] == rows[2:]


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "http://x", "rediss://127.0.0.1:1/0?ssl_cert_reqs=none"])
async def test_a_server_that_can_not_be_read_is_refused_without_its_url(url, token):
    with pytest.raises(ImportSourceError) as caught:
        async with open_redis_history(url.replace("//", f"//user:{token}@")) as source:
            [row async for row in source.rows()]
    assert token not in str(caught.value)
