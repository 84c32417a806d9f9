"""Turns follow each other, here and on other replicas, over both faces of the saver."""

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver

THREAD = {"configurable": {"thread_id": "1"}}


@pytest.fixture(params=["loop", "guarded"])
def make(request, shop):
    return getattr(shop, request.param)


@pytest.mark.fast_cases(3)
async def test_a_second_turn_goes_on_from_the_first(rows, shop, make, durability):
    talk = rows.talk(make)
    await talk.invoke(shop.say("first one"), **durability)
    await talk.invoke(shop.say("second one"), **durability)
    assert await talk.texts() == ["h:first one", "a:answer to", "h:second one", "a:answer to"]
    assert (await talk.state()).next == ()


async def test_a_turn_sees_its_own_results_and_leaves_none(rows, shop, durability):
    talk = rows.talk(shop.loop)
    result = await talk.invoke(shop.say("use:note please"), **durability)
    assert [message.text for message in result["messages"] if isinstance(message, ToolMessage)] == [shop.raw("result")]
    assert await talk.texts() == ["h:use:note please", "a:answer to"]


@pytest.mark.fast_cases(2)
async def test_replicas_take_turns(rows, shop, durability):
    here, there = rows.talk(shop.loop), rows.talk(shop.loop)
    for number, talk in enumerate([here, there, here, here, there, here]):
        await talk.invoke(shop.say(f"turn {number} use:note"), **durability)
    assert await here.texts() == await there.texts()
    assert [text for text in await here.texts() if text[0] == "h"] == [f"h:turn {number}" for number in range(6)]
    assert shop.model.refused == 0


async def test_a_replica_neither_repeats_nor_skips_a_node(rows, shop):
    await rows.talk(shop.loop).invoke(shop.say("use:note please"))
    there = rows.talk(shop.loop)
    assert (await there.state()).next == ()
    ran = [name async for update in there.stream(shop.say("use:note again"), stream_mode="updates") for name in update]
    assert ran == ["model", "tools", "model"]


@pytest.mark.parametrize("kind", [RedactingSaver, RedactingSyncSaver])
async def test_one_saver_serves_sync_and_async_calls(shop, kind):
    graph = shop.loop(kind(InMemorySaver()))
    graph.invoke(shop.say("first one"), THREAD)
    await graph.ainvoke(shop.say("use:ask please"), THREAD)
    assert graph.get_state(THREAD).next == ("tools",)
    assert len((await graph.aget_state(THREAD)).interrupts) == 1
    assert len(graph.get_state(THREAD).values["messages"]) == 4
    assert list(graph.get_state_history(THREAD)) == [state async for state in graph.aget_state_history(THREAD)]


@pytest.mark.fast_cases(3)
async def test_messages_keep_their_ids_over_turns_and_replicas(rows, shop, durability):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("first one"), **durability)
    result = await talk.invoke(shop.say("use:note two"), **durability)
    told = [
        message.id for message in result["messages"] if message.text.startswith(("first", "use:note two", "answer"))
    ]
    assert None not in told
    for reader in (talk, talk, rows.talk(shop.loop)):
        assert [message.id for message in (await reader.state()).values["messages"]] == told


@pytest.mark.fast_cases(3)
async def test_a_message_that_is_given_again_is_there_once(rows, shop, durability):
    """Clients that send the whole conversation each time send messages with the ids that they were given."""
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("first one"), **durability)
    conversation = (await talk.state()).values["messages"]
    await talk.invoke({"messages": [*conversation, *shop.say("second one")["messages"]]}, **durability)
    assert await talk.texts() == ["h:first one", "a:answer to", "h:second one", "a:answer to"]
