"""`Copier`: what is in Redis comes into the log once, and then what is new."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from datetime import UTC, datetime

import psycopg
import pytest

from discreet.errors import ImportSourceError
from discreet.importing.history import copying
from discreet.importing.history.copying import Copier
from discreet.importing.history.dual_writer import DualWriter
from discreet.importing.history.v1 import V1History
from discreet.importing.history.writing import RoundWriter
from discreet.ports import Round
from discreet.redaction import Redactor
from discreet.rights.erasure import Erasures, Scope
from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.storage.database.users.epochs import SKEW
from discreet.testing import StubEmbeddings


@pytest.fixture
def again(history, writer, bad_rows):
    """Return another copier, as of a process that began later."""
    return Copier(history, writer, bad=bad_rows.extend)


async def until(reached):
    for _ in range(400):
        if reached():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("not reached")


@pytest.mark.slow
async def test_all_there_is_is_copied_once(v1, copier, again, log, bad_rows):
    said = [v1.say(f"U{n % 5}", f"{n}: ann@example.org", ago=1000 - n) for n in range(40)]
    assert await copier.copy() == {"written": 40}
    assert [(row[0], row[1], row[3]) for row in log.rows()] == [
        (each["rid"], f"{n}: <EMAIL>", each["timestamp"]) for n, each in enumerate(said)
    ]
    assert await again.copy() == {"there": 40}
    assert len(log.rows()) == log.session_rounds() == 40
    assert bad_rows == []


async def test_only_what_is_new_is_read_again(v1, copier, history, monkeypatch):
    v1.say("U1", "one", ago=9)
    v1.say("U2", "one", ago=9)
    await copier.copy()
    read = []
    items = type(history).items

    async def noting(self, user_id, start=0):
        read.append((user_id, start))
        return await items(self, user_id, start)

    monkeypatch.setattr(type(history), "items", noting)
    assert await copier.copy() == {}
    v1.say("U2", "two", ago=8)
    assert await copier.copy() == {"written": 1}
    assert read == [("U2", 1)]


async def test_a_list_that_expired_and_grew_again_is_read_from_its_start(v1, copier, log):
    v1.say("U1", "one", ago=9)
    v1.say("U1", "two", ago=8)
    await copier.copy()
    v1.redis.delete("session:U1:history")
    v1.say("U1", "three", ago=7)
    assert await copier.copy() == {"written": 1}
    assert [row[1] for row in log.rows()] == ["one", "two", "three"]


async def test_rounds_that_cant_be_read_are_told_of_once_without_their_text_and_cost_the_others_nothing(
    v1, copier, log, bad_rows
):
    v1.say("U1", "good", ago=9)
    good = v1.round("U1", "zanzibarine")
    items = [
        "zanzibarine",
        '"zanzibarine"',
        *({**good, name: None} for name in ("input", "output", "rid", "timestamp")),
    ]
    items += [{**good, "rid": "a zanzibarine"}, {**good, "timestamp": 10**30}, {**good, "rid": "ann@example.org"}]
    for each in items:
        v1.redis.rpush("session:U1:history", each if isinstance(each, str) else json.dumps(each))
    v1.redis.set("session:U2:history", "no list")
    assert await copier.copy() == {"written": 1, "bad": len(items)}
    assert [row[1] for row in log.rows()] == ["good"]
    of_keys, of_items = bad_rows[:1], bad_rows[1:]
    assert [(row.reason, row.key) for row in of_keys] == [("key: no list", b"session:U2:history")]
    assert [row.mark for row in of_items] == [f"{number + 2}" for number in range(len(items))]
    assert {row.key for row in of_items} == {b"session:U1:history"}
    assert all("zanzibarine" not in row.reason for row in bad_rows)
    assert all(row.raw for row in of_items)
    copier._seen.clear()
    await copier.copy()
    assert len(bad_rows) == 1 + len(items)


KEYS = {
    b"session:\xff\xfezanzibarine:history": "key: not UTF-8",
    b"session::history": "key: no user id",
    b"session: :history": "key: no user id",
    b"session:zan\0zibarine:history": "key: control characters in the user id",
    b"session:" + b"u" * 201 + b":history": "key: a user id of more than 200 characters",
}


async def test_keys_that_cant_be_read_are_told_of_once_with_a_digest(v1, copier, log, bad_rows):
    for key in KEYS:
        v1.redis.rpush(key, json.dumps(v1.round("U1", "zanzibarine")))
    v1.say("U" * 200, "good", ago=9)
    for _ in range(2):
        await copier.copy()
        assert copier.unreadable_keys == Counter(KEYS.values())
    assert {row.key: row.reason for row in bad_rows} == KEYS
    assert {row.mark for row in bad_rows} == {f"key {hashlib.sha256(key).hexdigest()[:32]}" for key in KEYS}
    assert len(bad_rows) == len(KEYS)
    assert "zanzibarine" not in repr(bad_rows)
    assert [row[1] for row in log.rows()] == ["good"]


async def test_rounds_with_one_rid_are_all_kept_and_equal_ones_once(v1, copier, again, log):
    said = [v1.say("U1", f"text {n}", ago=100 - n, rid="same") for n in range(3)]
    v1.append_round("U1", said[1])
    v1.say("U2", "another's", rid="same", ago=50)
    assert await copier.copy() == {"written": 4, "doubled": 1}
    expected = [("same", "text 0"), ("same#2", "text 1"), ("same#3", "text 2"), ("same", "another's")]
    assert [row[:2] for row in log.rows()] == expected
    later = v1.say("U1", "text 3", ago=10, rid="same")
    v1.append_round("U1", said[2])
    assert await copier.copy() == {"written": 1, "doubled": 1}
    expected.append(("same#4", later["input"]))
    assert [row[:2] for row in log.rows()] == expected
    assert await copier.copy() == {}
    assert await again.copy() == {"there": 5, "doubled": 2}
    assert [row[:2] for row in log.rows()] == expected


async def test_of_rounds_with_one_rid_none_is_lost_or_doubled_by_a_list_that_was_cut(v1, copier, again, log):
    for number in range(3):
        v1.say("U1", f"text {number}", ago=100 - number, rid="same")
    await copier.copy()
    v1.redis.ltrim("session:U1:history", 1, -1)
    v1.say("U1", "text 3", ago=10, rid="same")
    assert await again.copy() == {"there": 2, "written": 1}
    assert [row[1] for row in log.rows()] == [f"text {number}" for number in range(4)]


async def test_writers_that_write_one_rid_at_once_lose_nothing_that_a_copy_does_not_bring_back(v1, copier, log, phase):
    await phase("dual_write")
    dual = [DualWriter(copier.writer.storage) for _ in range(5)]
    said = [v1.say("U1", f"text {number}", ago=100 - number, rid="same") for number in range(5)]
    await asyncio.gather(*(writer.append_round("U1", each) for writer, each in zip(dual, said, strict=True)))
    await copier.copy()
    assert sorted(row[1] for row in log.rows()) == [each["input"] for each in said]


async def test_what_could_not_be_told_of_is_told_of_the_next_time(v1, history, writer):
    v1.redis.rpush("session:U1:history", "no JSON")
    told = []

    def tell(rows):
        told.append(rows)
        if len(told) == 1:
            raise ImportSourceError

    copier = Copier(history, writer, bad=tell)
    with pytest.raises(ImportSourceError):
        await copier.copy()
    assert await copier.copy() == {"bad": 1}
    assert [len(rows) for rows in told] == [1, 1]


@pytest.mark.slow
async def test_a_user_who_is_being_erased_ends_nothing_and_is_looked_at_again(v1, copier, log, storage, database):
    for user_id in ("U1", "U2"):
        v1.say(user_id, "one", ago=9)
    await copier.copy()
    for user_id in ("U1", "U2"):
        v1.say(user_id, "two", ago=8)
    user_key = storage.background.keys.of_user("U1")
    async with await psycopg.AsyncConnection.connect(database) as erasing:
        await erasing.execute("SELECT FROM discreet.users WHERE user_key = %s FOR UPDATE", [user_key])
        assert await copier.copy() == {"written": 1, "busy": 1}
    assert await copier.copy() == {"written": 1}
    assert [row[1] for row in log.rows()] == ["one", "one", "two", "two"]


async def test_sessions_of_our_own_in_the_same_redis_are_left_alone(database, v1, redis_url, copier, log):
    settings = Settings(redis_url=redis_url)
    opened = open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=16), redactor=Redactor())
    async with opened as ours:
        said = Round(request_id="r-1", input_text="Hi", output_text="Hello.", said_at=datetime.now(UTC))
        await ours.short_term.append_round("ann", "thread-1", said)
    v1.say("line:U1", "one", ago=9)
    assert await copier.copy() == {"written": 1}
    assert [row[1] for row in log.rows()] == ["one"]


@pytest.mark.slow
async def test_a_follower_copies_new_rounds_until_it_is_stopped(v1, copier, log, monkeypatch):
    monkeypatch.setattr(copying, "POLL_SECONDS", 0.05)
    stopping = asyncio.Event()
    following = asyncio.create_task(copier.follow(stopping))
    for number in range(5):
        v1.say(f"U{number % 2}", f"said {number}", ago=100 - number)
        await until(lambda wanted=number + 1: len(log.rows()) == wanted)
    stopping.set()
    await asyncio.wait_for(following, 5)


async def test_a_follower_outlives_failures(v1, copier, log, monkeypatch, caplog):
    monkeypatch.setattr(copying, "POLL_SECONDS", 0.05)
    failures = iter([ImportSourceError(), ImportSourceError()])
    histories = V1History.histories

    async def failing(self):
        for failure in failures:
            raise failure
        return await histories(self)

    monkeypatch.setattr(V1History, "histories", failing)
    v1.say("U1", "one", ago=9)
    stopping = asyncio.Event()
    following = asyncio.create_task(copier.follow(stopping))
    await until(lambda: len(log.rows()) == 1)
    stopping.set()
    await asyncio.wait_for(following, 5)
    assert caplog.text.count("history.follow_failed cause=import_source") == 2


async def test_redis_that_is_down_is_a_typed_error(v1, copier):
    v1.redis.set("session:U1:summary:rounds", "none")
    await copier.copy()
    with pytest.raises(ImportSourceError):
        await copier._history.tail("U1", 6)


async def test_what_a_user_said_before_they_were_erased_does_not_come_back(v1, copier, again, log, phase):
    await phase("dual_write")
    before = [v1.say("U1", f"before {n}", ago=4000 + n) for n in range(3)]
    v1.say("U2", "another's", ago=4000)
    await copier.copy()
    await Erasures(copier.writer.storage).erase("U1", Scope.everything())
    assert [row[1] for row in log.rows()] == ["another's"]

    assert await again.copy() == {"erased": 3, "there": 1}
    await DualWriter(copier.writer.storage).append_round("U1", before[0])  # of a turn that was under way
    assert [row[1] for row in log.rows()] == ["another's"]

    after = v1.say("U1", "after", ago=-SKEW.total_seconds() - 5)
    assert await again.copy() == {"written": 1}
    assert [row[0] for row in log.rows()][-1] == after["rid"]


async def test_an_erasure_in_the_middle_of_a_copy_wins(v1, storage, history, log, monkeypatch):
    for number in range(30):
        v1.say("U1", f"said {number}", ago=5000 - number)
    writer = RoundWriter(storage)
    read = []
    erased_until = RoundWriter.erased_until

    async def erase_then(self, user_id):
        found = await erased_until(self, user_id)
        if not read:
            read.append(found)
            await Erasures(storage).erase("U1", Scope.everything())
        return found

    monkeypatch.setattr(RoundWriter, "erased_until", erase_then)
    assert await Copier(history, writer, bad=lambda _: None).copy() == {"erased": 30}
    assert log.rows() == []


@pytest.mark.slow
async def test_writers_and_copiers_at_once_make_no_double_and_lose_none(v1, storage, history, log, phase):
    await phase("dual_write")
    dual = [DualWriter(storage) for _ in range(3)]
    said = []

    async def speak(number):
        for turn in range(10):
            each = v1.say(f"U{number}", f"{number} says {turn}", ago=1000 - turn)
            said.append(each["rid"])
            await dual[number % 3].append_round(f"U{number}", each)

    async def copy():
        await Copier(history, RoundWriter(storage), bad=lambda _: None).copy()

    await asyncio.gather(*(speak(number) for number in range(12)), *(copy() for _ in range(4)))
    await copy()
    assert sorted(row[0] for row in log.rows()) == sorted(said)
    assert log.session_rounds() == len(said)
