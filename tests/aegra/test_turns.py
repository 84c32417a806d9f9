"""Runs at once in one thread: each has its turn, in whatever processes they are."""

import asyncio
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from ownership_battery.things import post
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from things import heard, saying

from discreet.api.aegra.turns import Turns
from discreet.errors import LeaseLostError

PROCESSES, AT_ONCE = 2, 4


@pytest.mark.asyncio(loop_scope="session")
async def test_no_run_of_eight_at_two_processes_loses_what_was_said(ann, ann_there):
    thread = (await post(ann, "/threads"))["thread_id"]

    async def say(client, number):
        await post(client, f"/threads/{thread}/runs/wait", **saying(f"number {number}", seconds=0.2))

    clients = [ann, ann_there] * AT_ONCE
    await asyncio.gather(*(say(client, number) for number, client in enumerate(clients)))
    said = heard((await ann.get(f"/threads/{thread}/state")).json()["values"])
    assert sorted(said) == sorted(f"number {number}" for number in range(PROCESSES * AT_ONCE))


@pytest.mark.asyncio(loop_scope="session")
async def test_no_turn_with_the_assistant_is_lost(carol, carol_here):
    thread = (await post(carol, "/threads"))["thread_id"]

    async def say(client, number):
        message = {"role": "user", "content": f"Pet number {number} is called Rex{number}."}
        await post(client, f"/threads/{thread}/runs/wait", assistant_id="offline", input={"messages": [message]})

    await asyncio.gather(*(say(client, number) for number, client in enumerate([carol, carol_here] * AT_ONCE)))
    messages = (await carol.get(f"/threads/{thread}/state")).json()["values"]["messages"]
    assert [message["type"] for message in messages] == ["human", "ai"] * PROCESSES * AT_ONCE
    assert len({message["content"] for message in messages[::2]}) == PROCESSES * AT_ONCE


@pytest.mark.asyncio(loop_scope="session")
async def test_runs_follow_one_another_as_they_came(ann, ann_there):
    thread = (await post(ann, "/threads"))["thread_id"]
    runs = []
    for number, client in enumerate([ann, ann_there] * 2):
        run = await post(client, f"/threads/{thread}/runs", **saying(str(number), seconds=1.0))
        runs.append(run["run_id"])
        await asyncio.sleep(0.5)  # by then a worker has it
    for run in runs:
        await ann.get(f"/threads/{thread}/runs/{run}/join")
    assert heard((await ann.get(f"/threads/{thread}/state")).json()["values"]) == ["0", "1", "2", "3"]


@pytest.mark.asyncio(loop_scope="session")
async def test_who_does_not_want_to_wait_is_told_that_the_thread_is_busy(ann, ann_there):
    thread = (await post(ann, "/threads"))["thread_id"]
    body = saying("x", seconds=30)
    run = (await post(ann, f"/threads/{thread}/runs", **body))["run_id"]
    for path in ("/runs", "/runs/wait", "/runs/stream"):
        said = saying(path, seconds=30)  # not the same: that would be one message that is delivered again
        refused = await ann_there.post(f"/threads/{thread}{path}", json={**said, "multitask_strategy": "reject"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "thread_busy")
    refused = await ann_there.post(f"/threads/{thread}/state", json={"values": {"said": "y"}})
    assert refused.status_code == 409
    for strategy in ("interrupt", "rollback"):
        refused = await ann_there.post(
            f"/threads/{thread}/runs", json={**saying(strategy), "multitask_strategy": strategy}
        )
        assert refused.status_code == 422
    await ann.post(f"/threads/{thread}/runs/{run}/cancel", params={"wait": 1})
    accepted = await ann_there.post(
        f"/threads/{thread}/runs/wait",
        json={**saying("z", seconds=0), "multitask_strategy": "reject"},
    )
    assert accepted.json()["messages"][-1]["content"] == "I heard: z"


@asynccontextmanager
async def turns_at(dsn, **options):
    kwargs = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}
    async with AsyncConnectionPool(dsn, min_size=1, max_size=3, kwargs=kwargs, open=False) as pool:
        yield Turns(pool, **options)


@pytest_asyncio.fixture
async def turns(empty_database):
    """The turns of one process."""
    async with turns_at(empty_database) as turns:
        await turns.setup()
        yield turns


async def test_many_processes_may_set_up_at_once(empty_database):
    async def one():
        async with turns_at(empty_database) as turns:
            await turns.setup()

    await asyncio.gather(*(one() for _ in range(6)))


async def test_one_after_the_other_and_others_beside_them(turns, empty_database):
    inside, most, done = 0, 0, []

    async def one(of, thread, name):
        nonlocal inside, most
        async with of.turn(thread):
            if thread == "a":
                inside += 1
                most = max(most, inside)
            await asyncio.sleep(0.05)
            inside -= thread == "a"
            done.append(name)

    async with turns_at(empty_database) as others, turns.turn("b"):
        await asyncio.gather(*(one(of, "a", f"{n}") for n, of in enumerate([turns, others] * 3)))
    assert most == 1
    assert len(done) == 6


async def test_the_turn_of_a_killed_process_passes_on(empty_database):
    async with turns_at(empty_database, lease_seconds=0.6) as turns:
        await turns.setup()
        async with turns._pool.connection() as conn:
            await conn.execute(
                "INSERT INTO discreet_thread_turn VALUES ('a', gen_random_uuid(), now() + interval '0.5 s')"
            )
            await conn.execute(
                "INSERT INTO discreet_thread_ticket (thread_id, expires_at) VALUES ('a', now() + interval '0.5 s')"
            )
        async with asyncio.timeout(20), turns.turn("a"):
            pass


async def test_a_turn_is_held_longer_than_a_lease(empty_database):
    async with turns_at(empty_database, lease_seconds=0.6) as turns:
        await turns.setup()
        async with turns.turn("a"):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(2), turns.turn("a"):
                    pytest.fail("two had the turn")
        async with asyncio.timeout(20), turns.turn("a"):
            pass


async def test_who_has_lost_the_turn_stops(empty_database):
    async with turns_at(empty_database, lease_seconds=0.6) as turns:
        await turns.setup()

        async def lose_it():
            async with turns.turn("a"):
                async with turns._pool.connection() as conn:
                    await conn.execute("UPDATE discreet_thread_turn SET holder = gen_random_uuid()")
                await asyncio.sleep(20)

        with pytest.raises(LeaseLostError):
            await lose_it()


async def test_who_gives_up_waiting_is_in_nobodys_way(turns):
    async with turns.turn("a"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5), turns.turn("a"):
                pytest.fail("two had the turn")
    async with asyncio.timeout(20), turns.turn("a"):
        pass


async def test_it_works_behind_a_pooler(pooled_database):
    async with turns_at(pooled_database) as turns, turns_at(pooled_database) as others:
        await turns.setup()
        done = []

        async def one(of, n):
            async with of.turn("a"):
                done.append(n)

        await asyncio.gather(*(one(of, n) for n, of in enumerate([turns, others] * 2)))
        assert sorted(done) == [0, 1, 2, 3]
