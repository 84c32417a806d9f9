"""What is in the rows is named by the policy, whatever its value looks like: a flag can't be searched for."""

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from leak_battery.drive import make_scenes, play_all
from leak_battery.savers import POLICY, make_saver, open_pool
from leak_battery.stories import DURABILITIES

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver

ENGINE_CHANNELS = {"__start__", "__pregel_tasks", "__interrupt__", "__resume__", "__error__", "__no_writes__"}
METADATA = {"source", "step", "parents", "run_id", "counters_since_delta_snapshot", "unfinished", "answer_by"}

CHANNELS = """
SELECT jsonb_object_keys(checkpoint -> 'channel_values') FROM checkpoints
UNION SELECT channel FROM checkpoint_blobs WHERE type <> 'empty'
UNION SELECT channel FROM checkpoint_writes
UNION SELECT channel FROM checkpoint_messages
"""


def column(dsn, query):
    with psycopg.connect(dsn) as connection:
        return {name for (name,) in connection.execute(query)}


@pytest.mark.slow
@pytest.mark.parametrize("durability", DURABILITIES)
async def test_rows_name_only_the_engines_channels_and_those_of_the_policy(database, plants, durability):
    names = ["agent", "private channels", "stateful subgraph", "sends", "functional", "delta"]
    scenes = make_scenes(plants, "async", [durability], scenarios=names, every=2)
    async with open_pool(database, "async") as pool:
        wrong = await play_all(scenes, await make_saver(pool))
    channels = {name for name in column(database, CHANNELS) if not name.startswith(("branch:to:", "join:"))}
    assert wrong == {}
    assert channels >= {"messages", "topic"}
    assert channels <= ENGINE_CHANNELS | set(POLICY.messages) | set(POLICY.channels)
    assert column(database, "SELECT jsonb_object_keys(metadata) FROM checkpoints") <= METADATA


async def test_a_kept_channel_is_stored_as_it_is_and_another_not_at_all(agent, database):
    async with RedactingSaver.from_conn_string(database, CheckpointPolicy(channels={"locale": KEEP})) as saver:
        await saver.setup()
        await agent.compile(saver).ainvoke(agent.say("hello"), agent.config("1"))
    async with RedactingSaver.from_conn_string(database) as other:
        stored = await other.aget_tuple({"configurable": {"thread_id": "1"}})
    assert agent.email in stored.checkpoint["channel_values"]["locale"]
    assert "note" not in stored.checkpoint["channel_values"]


@pytest.mark.parametrize("given", ["m1", "msg_abc123DEF", "run--0b88f95d-1dec-566e-92e7-d9695b04cc7a"])
async def test_a_clients_id_that_tells_nothing_stays_and_any_other_does_not(agent, database, given):
    """What a client sends is found again under its own id: in the rows, in the state, and by the next message of that id."""
    config = {"configurable": {"thread_id": "1"}}
    telling = [f"{given} of Anna", agent.email]
    async with RedactingSaver.from_conn_string(database) as saver:
        for message_id in (given, given, *telling):
            said = HumanMessage(f"hello {agent.keep('user')}", id=message_id)
            await agent.compile(saver).ainvoke({"messages": [said]}, config)
    stored = column(database, "SELECT message_id FROM checkpoint_messages WHERE kind = 'human'")
    assert given in stored
    assert len(stored) == 3
    assert not stored.intersection(telling)
