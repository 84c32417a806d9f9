"""What one process begins, another goes on with; and what becomes of runs when a process is killed."""

import asyncio
import json

import psycopg
import pytest
from ownership_battery.things import post
from things import begin_to_ask, heard, saying

pytestmark = pytest.mark.asyncio(loop_scope="session")

SECONDS = 90
OVER = {"success", "error", "interrupted"}
PLANTED = "zebra.q{}@example.com"


async def begin(client, said, **state):
    """Start a run of the graph that waits; return path and id."""
    thread = (await post(client, "/threads"))["thread_id"]
    run = await post(client, f"/threads/{thread}/runs", **saying(said, **state))
    return f"/threads/{thread}", run["run_id"]


async def status_of(client, at, run):
    return (await client.get(f"{at}/runs/{run}")).json()["status"]


async def until(client, at, run, wanted):
    """Wait until a run has one of the states; return it."""
    async with asyncio.timeout(SECONDS):
        while (status := await status_of(client, at, run)) not in wanted:  # the run is in another process
            await asyncio.sleep(0.1)
    return status


def length_heard(server, run):
    """Return how long the message was that a run's graph got."""
    with psycopg.connect(server.databases[0]) as connection:
        (length,) = connection.execute("SELECT output -> 'length' FROM runs WHERE run_id = %s", (run,)).fetchone()
    return length


def claimed_by(server, run):
    """Return the process that executes a run."""
    with psycopg.connect(server.databases[0]) as connection:
        (name,) = connection.execute("SELECT claimed_by FROM runs WHERE run_id = %s", (run,)).fetchone()
    return next(worker for worker in server.workers if f"-{worker.process.pid}-worker-" in name)


async def test_a_run_is_joined_and_streamed_at_the_other_process(ann, ann_there, token):
    at, run = await begin(ann, token, seconds=1)
    streaming = asyncio.create_task(ann_there.get(f"{at}/runs/{run}/stream"))
    joined = (await ann_there.get(f"{at}/runs/{run}/join")).json()
    assert heard(joined) == [token]
    assert token in (await streaming).text
    assert await status_of(ann_there, at, run) == "success"
    events = (await ann_there.get(f"{at}/runs/{run}/stream", headers={"last-event-id": "0"})).text
    assert "event: end" in events


async def test_the_worker_gets_the_real_words_and_the_other_process_shows_placeholders(ann, ann_there, token):
    said = PLANTED.format(token)
    at = f"/threads/{(await post(ann, '/threads'))['thread_id']}"
    assert heard(await post(ann, f"{at}/runs/wait", **saying(said))) == [said]
    assert said not in (await ann_there.get(f"{at}/state")).text
    assert said not in (await ann_there.get(f"{at}/runs")).text


async def test_a_run_is_cancelled_at_the_other_process(ann, ann_there, token):
    at, run = await begin(ann, token, seconds=60)
    await until(ann_there, at, run, {"running"})
    cancelled = await ann_there.post(f"{at}/runs/{run}/cancel", params={"wait": 1, "action": "cancel"})
    assert cancelled.is_success
    assert await until(ann, at, run, OVER) == "interrupted"
    again = await post(ann, f"{at}/runs/wait", **saying("again", seconds=0))
    assert again["messages"][-1]["content"] == "I heard: again"


async def test_what_pauses_at_one_process_is_resumed_at_the_other(ann, ann_there, token):
    thread, interrupt = await begin_to_ask(ann, token)
    resume = {"assistant_id": "waiting", "command": {"resume": {interrupt: PLANTED.format(token)}}}
    state = await post(ann_there, f"/threads/{thread}/runs/wait", **resume)
    assert state["answer"] == PLANTED.format(token)
    assert heard(state) == [f"ask {token}"]


async def test_a_command_of_the_event_protocol_resumes_too(ann, ann_there, token):
    thread, interrupt = await begin_to_ask(ann, token)
    params = {"namespace": [], "interrupt_id": interrupt, "response": PLANTED.format(token)}
    done = await post(ann_there, f"/threads/{thread}/commands", id=1, method="input.respond", params=params)
    await until(ann, f"/threads/{thread}", done["result"]["run_id"], OVER)
    state = (await ann.get(f"/threads/{thread}/state")).json()
    assert state["next"] == []
    assert PLANTED.format(token) not in json.dumps(state)


async def test_what_one_tells_the_assistant_is_known_at_the_other_process_and_to_nobody_else(carol, carol_here, bob):
    async def ask(client, text):
        body = {"assistant_id": "offline", "input": {"messages": [{"role": "user", "content": text}]}}
        return (await post(client, "/runs/wait", **body))["messages"][-1]["content"]

    await ask(carol_here, "I keep two African Grey parrots.")
    assert "parrot" in await ask(carol, "Which birds do I have?")
    assert "parrot" not in await ask(bob, "Which birds do I have?")


async def test_a_run_of_a_killed_worker_is_taken_over(server, ann, token):
    at, run = await begin(ann, token, seconds=4)
    await until(ann, at, run, {"running"})
    killed = claimed_by(server, run)
    killed.kill()
    try:
        assert await until(ann, at, run, OVER) == "success"
        assert heard((await ann.get(f"{at}/state")).json()["values"]) == [token]
        again = await post(ann, f"{at}/runs/wait", **saying("again"))
        assert heard(again) == [token, "again"]
    finally:
        killed.start()
        killed.wait()


async def test_a_run_of_a_killed_worker_gets_its_real_words_and_comes_before_those_behind_it(server, ann, token):
    first, second = PLANTED.format(token), f"second {PLANTED.format(token)}"
    at, run = await begin(ann, first, seconds=4)
    await until(ann, at, run, {"running"})
    behind = (await post(ann, f"{at}/runs", **saying(second)))["run_id"]
    await asyncio.sleep(1.5)  # by then a worker has it, and the first has stored its input
    killed = claimed_by(server, run)
    killed.kill()
    try:
        assert await until(ann, at, behind, OVER) == "success"
        assert await status_of(ann, at, run) == "success"
        lengths = [length_heard(server, each) for each in (run, behind)]
        messages = (await ann.get(f"{at}/state")).json()["values"]["messages"]
        assert [message["type"] for message in messages] == ["human", "ai"] * 2
        assert messages[2]["content"].startswith("second ")
        assert lengths == [len(first), len(second)]
    finally:
        killed.start()
        killed.wait()


async def test_runs_go_on_when_the_process_that_took_them_is_killed(server, ann, ann_there, token):
    at, run = await begin(ann, token, seconds=3)
    killed = server.apis[0]
    killed.kill()
    try:
        assert await until(ann_there, at, run, OVER) == "success"
        assert heard((await ann_there.get(f"{at}/state")).json()["values"]) == [token]
    finally:
        killed.start()
        killed.wait()
