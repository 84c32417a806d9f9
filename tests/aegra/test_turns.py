"""Runs at once in one thread: each has its turn, in whatever processes they are."""

import asyncio
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from ownership_battery.things import post
from psycopg import AsyncConnection
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


@pytest.mark.asyncio(loop_scope="session")
async def test_a_strategy_that_is_none_is_refused_each_time_and_the_message_is_then_new(ann, ann_there, token):
    thread = (await post(ann, "/threads"))["thread_id"]
    for strategy in ("nonsense", "nonsense", ["enqueue"], ""):
        body = {**saying(token), "multitask_strategy": strategy}
        refused = await ann_there.post(f"/threads/{thread}/runs/wait", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "request_invalid")
    assert (await ann.get(f"/threads/{thread}/runs")).json() == []
    state = await post(ann, f"/threads/{thread}/runs/wait", **saying(token), multitask_strategy="reject")
    assert heard(state) == [token]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_change_of_the_state_as_a_node_that_is_none_is_refused_in_plain_words(ann, token):
    thread = (await post(ann, "/threads"))["thread_id"]
    await post(ann, f"/threads/{thread}/runs/wait", **saying(token))
    at = f"/threads/{thread}/state"
    for as_node in (token, ""):
        refused = await ann.post(at, json={"values": {"length": 1}, "as_node": as_node})
        assert refused.status_code == 422
        assert "as_node" in refused.json()["message"]
        assert token not in refused.text
    refused = await ann.post(at, json={"values": token, "as_node": "wait"})
    assert (refused.status_code, token in refused.text) == (422, False)
    assert (await ann.post(at, json={"values": {"length": 1}, "as_node": "wait"})).status_code == 200


@pytest.mark.asyncio(loop_scope="session")
async def test_the_same_message_at_two_processes_is_answered_once(ann, ann_there, token):
    thread = (await post(ann, "/threads"))["thread_id"]
    body = saying(token, seconds=1)
    states = await asyncio.gather(*(post(each, f"/threads/{thread}/runs/wait", **body) for each in (ann, ann_there)))
    assert [state["messages"][-1]["content"] for state in states] == [f"I heard: {token}"] * 2
    assert heard((await ann.get(f"/threads/{thread}/state")).json()["values"]) == [token]


RUNS = """
CREATE TABLE runs (
    run_id text PRIMARY KEY, thread_id text, status text, created_at timestamptz, updated_at timestamptz,
    lease_expires_at timestamptz
)
"""
"""As much of Aegra's table as turns look at."""


async def add_run(dsn, run, status, *, at=0, ago=0, leased=False):
    """Let there be a run of thread a, made as the `at`th and changed `ago` seconds ago."""
    lease = "now() + interval '1 s'" if leased else "NULL"
    made = f"now() + make_interval(secs => {at} - 10), now() - make_interval(secs => {ago})"
    async with await AsyncConnection.connect(dsn, autocommit=True) as conn:
        await conn.execute("DELETE FROM runs WHERE run_id = %s", (run,))
        await conn.execute(f"INSERT INTO runs VALUES (%s, 'a', %s, {made}, {lease})", (run, status))


async def gets_the_turn(turns, run, seconds=0.5):
    """Tell whether it soon is the turn of a run."""
    try:
        async with asyncio.timeout(seconds), turns.turn("a", run):
            return True
    except TimeoutError:
        return False


@asynccontextmanager
async def turns_at(dsn, **options):
    kwargs = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}
    async with AsyncConnectionPool(dsn, min_size=1, max_size=3, kwargs=kwargs, open=False) as pool:
        yield Turns(pool, **options)


@pytest_asyncio.fixture
async def turns(empty_database):
    """The turns of one process."""
    async with turns_at(empty_database) as turns:
        await make_tables(turns)
        yield turns


async def make_tables(turns):
    """Make what is there when a server has started."""
    await turns.setup()
    async with turns._pool.connection() as conn:
        await conn.execute(RUNS)


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
        await make_tables(turns)
        async with turns._pool.connection() as conn:
            await conn.execute(
                "INSERT INTO discreet_thread_turn VALUES ('a', gen_random_uuid(), now() + interval '0.5 s')"
            )
        async with asyncio.timeout(20), turns.turn("a"):
            pass


async def test_a_turn_is_held_longer_than_a_lease(empty_database):
    async with turns_at(empty_database, lease_seconds=0.6) as turns:
        await make_tables(turns)
        async with turns.turn("a"):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(2), turns.turn("a"):
                    pytest.fail("two had the turn")
        async with asyncio.timeout(20), turns.turn("a"):
            pass


async def test_who_has_lost_the_turn_stops(empty_database):
    async with turns_at(empty_database, lease_seconds=0.6) as turns:
        await make_tables(turns)

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


@pytest.mark.parametrize(("status", "leased"), [("running", True), ("running", False), ("pending", False)])
async def test_a_run_waits_for_those_made_before_it(turns, empty_database, status, leased):
    await add_run(empty_database, "1", status, leased=leased)
    await add_run(empty_database, "2", "running", at=1)
    assert not await gets_the_turn(turns, "2")
    assert await gets_the_turn(turns, "1")
    await add_run(empty_database, "1", "success")
    assert await gets_the_turn(turns, "2")


async def test_a_run_that_was_killed_comes_before_those_behind_it(turns, empty_database):
    await add_run(empty_database, "1", "running", ago=40, leased=True)
    await add_run(empty_database, "2", "running", at=1)
    waiting = asyncio.create_task(gets_the_turn(turns, "2", seconds=20))
    await add_run(empty_database, "1", "pending")  # as the reaper does
    await asyncio.sleep(0.5)
    async with turns.turn("a", "1"):
        assert not waiting.done()
        await add_run(empty_database, "1", "success")
    assert await waiting


async def test_a_run_that_no_worker_takes_is_not_waited_for_without_end(turns, empty_database):
    await add_run(empty_database, "1", "pending", ago=120)
    await add_run(empty_database, "2", "running", at=1)
    assert await gets_the_turn(turns, "2")


async def test_where_one_process_does_all_a_run_ends_with_it(empty_database):
    async with turns_at(empty_database) as before, turns_at(empty_database, alone=True) as turns:
        await make_tables(before)
        await add_run(empty_database, "1", "running", ago=60)
        await add_run(empty_database, "2", "running", at=1)
        assert not await gets_the_turn(before, "2")
        assert await gets_the_turn(turns, "2")


async def test_it_works_behind_a_pooler(pooled_database):
    async with turns_at(pooled_database) as turns, turns_at(pooled_database) as others:
        await make_tables(turns)
        done = []

        async def one(of, n):
            async with of.turn("a"):
                done.append(n)

        await asyncio.gather(*(one(of, n) for n, of in enumerate([turns, others] * 2)))
        assert sorted(done) == [0, 1, 2, 3]
