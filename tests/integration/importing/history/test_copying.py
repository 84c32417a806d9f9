"""`Copier`: what is in Redis comes into the log once, and then what is new."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

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
    assert len(bad_rows) == len(items)
    assert all("zanzibarine" not in row.reason for row in bad_rows)
    assert all(row.raw for row in bad_rows)
    copier._seen.clear()
    await copier.copy()
    assert len(bad_rows) == len(items)


async def test_sessions_of_our_own_in_the_same_redis_are_left_alone(database, v1, redis_url, copier, log):
    settings = Settings(redis_url=redis_url)
    opened = open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=16), redactor=Redactor())
    async with opened as ours:
        said = Round(request_id="r-1", input_text="Hi", output_text="Hello.", said_at=datetime.now(UTC))
        await ours.short_term.append_round("ann", "thread-1", said)
    v1.say("line:U1", "one", ago=9)
    assert await copier.copy() == {"written": 1}
    assert [row[1] for row in log.rows()] == ["one"]


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
    await Erasures(copier._writer.storage).erase("U1", Scope.everything())
    assert [row[1] for row in log.rows()] == ["another's"]

    assert await again.copy() == {"erased": 3, "there": 1}
    await DualWriter(copier._writer.storage).append_round("U1", before[0])  # of a turn that was under way
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
