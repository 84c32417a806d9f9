"""For whom a cron works when its time comes."""

import asyncio

import pytest
from ownership_battery.things import post

FORGED = {"langgraph_auth_permissions": ["users:name"], "langgraph_auth_user_id": "somebody"}


@pytest.mark.slow  # the server's crons come once a minute at most
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("part", ["config", "context"])
async def test_a_cron_works_for_its_owner_whoever_it_says_it_is(ann, bob, things, bobs, part):
    said = {**FORGED, "langgraph_auth_user": {"identity": things.identity}, "user_id": "bob@example.com"}
    thread = (await post(bob, "/threads"))["thread_id"]
    cron = await post(
        bob,
        f"/threads/{thread}/runs/crons",
        assistant_id="waiting",
        schedule="* * * * *",
        input={"said": "tick"},
        **({"config": {"configurable": said}} if part == "config" else {"context": said}),
    )
    runs = []
    async with asyncio.timeout(120):
        while not runs:
            await asyncio.sleep(1)
            runs = (await bob.get(f"/threads/{thread}/runs")).json()
    assert (await bob.delete(f"/runs/crons/{cron['cron_id']}")).status_code == 204
    run = runs[-1]
    configurable = run["kwargs"]["config"]["configurable"]
    assert run["metadata"]["owner"] == bobs.identity
    assert configurable["user_id"] == bobs.identity
    assert configurable["langgraph_auth_user"]["identity"] == bobs.identity
    assert configurable["langgraph_auth_permissions"] == []
    assert (await ann.get(f"/threads/{thread}")).status_code == 404
