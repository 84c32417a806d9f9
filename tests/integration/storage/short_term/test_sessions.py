"""Sessions and their rounds: the same in RAM, in PostgreSQL and in Redis."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from kit.search import Words, search

from discreet.errors import InvalidRecordError, InvalidUserError
from discreet.ports import HISTORY_SECONDS, SESSION_SECONDS, Round, Work

NOON = datetime(2026, 3, 1, 12, 0, 0, 123_000, UTC)
SLACK = 20.0
"""Seconds that a busy machine may take between two calls, since servers have clocks that go on."""
MAIL = "ann" + "@" + "example.com"


def said(request_id="request-1", **values):
    given = {"input_text": "Xin chào, 你好", "output_text": "Привет", "said_at": NOON}
    return Round(request_id=request_id, **{**given, **values})


@pytest.mark.fast_cases(3)
async def test_a_session_is_active_for_five_minutes_after_the_last_touch(kept):
    store = kept.store
    assert await store.session_state("ann", "1") is None
    await store.touch("ann", "1")
    kept.advance(SESSION_SECONDS - SLACK)
    assert await store.session_state("ann", "1") == "ACTIVE"
    await store.touch("ann", "1")
    kept.advance(SESSION_SECONDS - SLACK)
    assert await store.session_state("ann", "1") == "ACTIVE"
    kept.advance(SLACK + 1)
    assert await store.session_state("ann", "1") is None


@pytest.mark.fast_cases(3)
async def test_rounds_come_back_as_they_were_said_oldest_first(store):
    rounds = [said(f"r-{n}", input_text=f"{n}?", is_emergency=n == 3) for n in range(9)]
    for each in rounds:
        assert await store.append_round("ann", "1", each)
    assert await store.recent_rounds("ann", "1") == rounds[-6:]
    assert await store.recent_rounds("ann", "1", limit=2) == rounds[-2:]
    assert await store.recent_rounds("ann", "1", limit=50) == rounds
    assert await store.recent_rounds("ann", "1", limit=0) == []
    assert await store.session_state("ann", "1") == "ACTIVE"


async def test_a_time_in_any_zone_is_the_same_moment(store):
    await store.append_round("ann", "1", said(said_at=NOON.astimezone(timezone(timedelta(hours=7)))))
    [round_] = await store.recent_rounds("ann", "1")
    assert round_.said_at == NOON
    assert round_.said_at.tzinfo is not None


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)])
async def test_a_time_at_the_end_of_the_calendar_comes_back(store, at):
    assert await store.append_round("ann", "1", said(said_at=at))
    assert [r.said_at for r in await store.recent_rounds("ann", "1")] == [at]


@pytest.mark.parametrize(
    "at",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-12))),
        NOON.replace(tzinfo=None),
    ],
)
def test_a_time_that_could_not_be_read_again_is_refused(at):
    with pytest.raises(InvalidRecordError, match="said_at"):
        said(said_at=at)


@pytest.mark.fast_cases(3)
async def test_a_round_is_added_once_however_often_it_comes(store):
    assert await store.append_round("ann", "1", said(input_text="first"))
    assert not await store.append_round("ann", "1", said(input_text="second"))
    assert [r.input_text for r in await store.recent_rounds("ann", "1")] == ["first"]
    assert await store.append_round("ann", "2", said())
    assert await store.append_round("bob", "1", said())


@pytest.mark.fast_cases(3)
async def test_of_sixteen_deliveries_of_one_round_at_once_one_is_added(store):
    added = await asyncio.gather(*(store.append_round("ann", "1", said()) for _ in range(16)))
    assert added.count(True) == 1
    assert len(await store.recent_rounds("ann", "1")) == 1


@pytest.mark.fast_cases(3)
async def test_sixteen_rounds_at_once_are_all_kept(store):
    added = await asyncio.gather(*(store.append_round("ann", "1", said(f"r-{n}")) for n in range(16)))
    assert all(added)
    assert {r.request_id for r in await store.recent_rounds("ann", "1", limit=50)} == {f"r-{n}" for n in range(16)}


@pytest.mark.fast_cases(3)
async def test_rounds_live_for_a_day_after_the_last_touch(kept):
    store = kept.store
    await store.append_round("ann", "1", said())
    kept.advance(HISTORY_SECONDS - SLACK)
    assert await store.recent_rounds("ann", "1") == [said()]
    await store.touch("ann", "1")
    kept.advance(HISTORY_SECONDS - SLACK)
    assert await store.recent_rounds("ann", "1") == [said()]
    kept.advance(SLACK + 1)
    assert await store.recent_rounds("ann", "1") == []


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("begin", ["touch", "append"])
async def test_a_session_that_begins_anew_has_none_of_the_old_rounds(kept, begin):
    store = kept.store
    await store.append_round("ann", "1", said("old"))
    kept.advance(HISTORY_SECONDS + 1)
    if begin == "touch":
        await store.touch("ann", "1")
    assert await store.append_round("ann", "1", said("old", input_text="again"))
    assert [r.input_text for r in await store.recent_rounds("ann", "1")] == ["again"]


@pytest.mark.fast_cases(3)
async def test_texts_are_redacted_on_the_way_in_and_keep_their_tags(kept):
    tagged = "<EMAIL:7K2QX3MD>"
    assert await kept.store.append_round(
        "ann", "1", said(input_text=f"I am {MAIL}", output_text=f"Noted {tagged}, {MAIL}")
    )
    [round_] = await kept.store.recent_rounds("ann", "1")
    assert round_.input_text.startswith("I am <EMAIL")
    assert round_.output_text.startswith(f"Noted {tagged}, <EMAIL")
    assert search(kept.stored(), Words(mail=MAIL)).leaks == {}


@pytest.mark.fast_cases(3)
async def test_characters_that_cannot_be_stored_cost_only_themselves(store):
    assert await store.append_round("ann", "1", said(input_text="a\0b", output_text="c\ud800d"))
    [round_] = await store.recent_rounds("ann", "1")
    assert (round_.input_text, round_.output_text) == ("ab", "c\ufffdd")


@pytest.mark.fast_cases(3)
async def test_forgetting_a_session_leaves_the_others(store):
    for user_id, thread_id in [("ann", "1"), ("ann", "2"), ("bob", "1")]:
        for request_id in ("request-1", "request-2"):
            await store.append_round(user_id, thread_id, said(request_id))
    assert await store.forget("ann", "1") == 3  # two rounds and the state
    assert await store.forget("ann", "1") == 0
    assert await store.recent_rounds("ann", "1") == []
    assert await store.session_state("ann", "1") is None
    assert len(await store.recent_rounds("ann", "2")) == len(await store.recent_rounds("bob", "1")) == 2


@pytest.mark.fast_cases(3)
@pytest.mark.dialect
async def test_forgetting_a_user_leaves_other_users(kept):
    store = kept.store
    for user_id in ("ann", "bob"):
        await store.append_round(user_id, "1", said())
        await store.touch(user_id, "ann")  # a thread by the name of another user
        done, running = (Work(kind=kind, user_id=user_id, ref="1") for kind in ("audio", "request"))
        claim = await store.claim(done, lease=180.0)
        await store.finish(done, claim.token, "answer", keep=60.0)
        await store.claim(running, lease=3.0)
    assert await store.forget("ann") == 5  # a round, two states, an answer, a claim
    assert await store.forget("ann") == 0
    assert await store.recent_rounds("ann", "1") == []
    assert len(await store.recent_rounds("bob", "1")) == 1
    assert await store.session_state("bob", "ann") == "ACTIVE"
    assert await store.forget("bob") == 5


@pytest.mark.fast_cases(3)
async def test_what_expired_is_not_counted_when_it_is_forgotten(kept):
    await kept.store.append_round("ann", "1", said())
    await kept.store.claim(Work(kind="request", user_id="ann", ref="1"), lease=3.0)
    kept.advance(SESSION_SECONDS + 1)
    assert await kept.store.forget("ann") == 1  # the round; state and claim have expired
    assert search(kept.stored(), Words("request-1")).leaks == {}


async def test_a_user_id_that_cannot_be_used_is_refused(store):
    work = Work(kind="audio", user_id=" ", ref="1")
    calls = [
        store.touch(" ", "1"),
        store.session_state(" ", "1"),
        store.append_round(" ", "1", said()),
        store.recent_rounds(" ", "1"),
        store.claim(work, lease=1.0),
        store.forget(" "),
        store.forget(" ", "1"),
    ]
    for call in calls:
        with pytest.raises(InvalidUserError):
            await call
