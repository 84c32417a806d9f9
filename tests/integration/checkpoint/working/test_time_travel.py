"""History, forks and replays: by turn for turns that are over, by step within the open one."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command, StateUpdate

from discreet.errors import TransientStateLostError


def sources(history):
    return [state.metadata["source"] for state in history]


async def two_turns(rows, shop):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("use:note one"))
    await talk.invoke(shop.say("use:note two"))
    return talk


@pytest.mark.fast_cases(3)
async def test_the_history_of_finished_turns_is_each_ones_input_and_end(rows, shop, durability):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("use:note one"), **durability)
    await talk.invoke(shop.say("use:note two"), **durability)
    history = await talk.history()
    ends = history if durability["durability"] == "exit" else history[::2]
    assert [len(state.values["messages"]) for state in ends] == [4, 2]
    assert [state.next for state in ends] == [(), ()]
    if durability["durability"] != "exit":
        assert sources(history) == ["loop", "input", "loop", "input"]
        assert all(state.next for state in history[1::2])


async def test_every_parent_in_the_history_exists(rows, shop):
    talk = await two_turns(rows, shop)
    await talk.invoke(shop.say("use:ask three"))
    history = await talk.history()
    ids = [state.config["configurable"]["checkpoint_id"] for state in history]
    assert ids == sorted(set(ids), reverse=True)
    assert [state.parent_config["configurable"]["checkpoint_id"] for state in history[:-1]] == ids[1:]
    assert history[-1].parent_config is None


@pytest.mark.dialect
async def test_the_history_can_be_limited_paged_and_filtered(rows, shop):
    talk = await two_turns(rows, shop)
    history = await talk.history()
    assert await talk.history(limit=2) == history[:2]
    assert await talk.history(before=history[1].config) == history[2:]
    assert await talk.history(filter={"source": "input"}) == history[1::2]


@pytest.mark.fast_cases(2)
async def test_a_finished_turn_runs_again_from_its_input(rows, shop):
    talk = await two_turns(rows, shop)
    first_input = (await talk.history())[-1]
    assert first_input.metadata["source"] == "input"
    await talk.invoke(None, first_input.config)
    assert shop.runs == ["note"] * 3
    assert await talk.texts() == ["h:use:note one", "a:answer to"]
    await talk.invoke(shop.say("and now"))
    assert await talk.texts() == ["h:use:note one", "a:answer to", "h:and now", "a:answer to"]
    assert shop.model.refused == 0


@pytest.mark.fast_cases(2)
async def test_a_new_message_goes_on_from_an_old_end(rows, shop):
    talk = await two_turns(rows, shop)
    first_end = (await talk.history())[2]
    result = await talk.invoke(shop.say("something else"), first_end.config)
    assert len(result["messages"]) == 4
    assert await talk.texts() == ["h:use:note one", "a:answer to", "h:something else", "a:answer to"]
    there = rows.talk(shop.loop)
    assert await there.texts() == await talk.texts()


@pytest.mark.fast_cases(2)
async def test_another_replica_travels_in_the_same_history(rows, shop):
    talk = await two_turns(rows, shop)
    there = rows.talk(shop.loop)
    ids = [state.config for state in await talk.history()]
    assert [state.config for state in await there.history()] == ids
    await there.invoke(None, ids[1])
    assert await there.texts() == ["h:use:note one", "a:answer to", "h:use:note two", "a:answer to"]
    assert shop.runs == ["note"] * 3


async def test_the_past_can_be_rewritten(rows, shop):
    talk = await two_turns(rows, shop)
    first_end = (await talk.history())[2]
    forked = await talk.update({"messages": [AIMessage("corrected answer")]}, first_end.config, as_node="model")
    assert (await talk.state(forked)).next == ()
    assert (await talk.texts())[-1] == "a:corrected answer"
    await talk.invoke(shop.say("and now"))
    expected = ["h:use:note one", "a:answer to", "a:corrected answer", "h:and now", "a:answer to"]
    assert (await talk.texts())[-3:] == expected[-3:]
    assert [state.metadata["source"] for state in await talk.history()][:3] == ["loop", "input", "update"]


@pytest.mark.fast_cases(2)
async def test_a_message_can_be_replaced_between_turns(rows, shop):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("first one"))
    user = (await talk.state()).values["messages"][0]
    await talk.update({"messages": [HumanMessage("other words", id=user.id)]}, as_node="model")
    assert await talk.texts() == ["h:other words", "a:answer to"]
    assert await rows.talk(shop.loop).texts() == ["h:other words", "a:answer to"]


@pytest.mark.fast_cases(2)
async def test_within_the_open_turn_travel_is_by_step(rows, shop):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("first one"))
    await talk.invoke(shop.say("use:ask two"))
    history = await talk.history()
    assert [state.next for state in history[:3]] == [("tools",), ("model",), ("__start__",)]
    await talk.invoke(None, history[1].config)
    state = await talk.state()
    assert (state.next, shop.runs) == (("tools",), [])
    await talk.invoke(Command(resume="yes"))
    assert shop.runs == ["ask yes"]
    assert (await talk.texts())[2:] == ["h:use:ask two", "a:answer to"]


@pytest.mark.parametrize("given", [None, Command(resume="no")], ids=["none", "resume"])
async def test_a_pause_whose_turn_is_over_is_not_gone_back_to(rows, shop, durability, given):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("use:ask one"), **durability)
    pause = (await talk.state()).config
    await talk.invoke(Command(resume="yes"), **durability)
    before = await talk.texts()
    with pytest.raises(TransientStateLostError):
        await talk.invoke(given, pause, **durability)
    assert (await talk.texts(), shop.runs) == (before, ["ask yes"])
    await talk.invoke(shop.say("and now"), **durability)
    assert await talk.texts() == [*before, "h:and now", "a:answer to"]


async def test_a_pause_can_be_edited(rows, shop):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("use:ask one"))
    state = await talk.state()
    plan = state.values["messages"][-1]
    edited = AIMessage("raw", tool_calls=[{**plan.tool_calls[0], "name": "note"}], id=plan.id)
    await talk.update({"messages": [edited]}, as_node="model")
    assert (await talk.state()).next == ("tools",)
    await talk.invoke(None)
    assert shop.runs == ["note"]
    assert await talk.texts() == ["h:use:ask one", "a:answer to"]


async def test_several_steps_can_be_written_at_once(rows, stock, shop):
    steps = [
        [StateUpdate({"messages": [HumanMessage("first one")]}, "tools")],
        [StateUpdate({"messages": [AIMessage("first answer")]}, "model")],
    ]
    for talk in (rows.talk(shop.loop), stock.talk(shop.loop)):
        await talk.bulk_update(steps)
        assert await talk.texts() == ["h:first one", "a:first answer"]
        assert (await talk.state()).next == ()
        await talk.invoke(shop.say("and now"))
        assert (await talk.texts())[2:] == ["h:and now", "a:answer to"]


@pytest.mark.parametrize("turn", ["use:note two", "plain two"])
async def test_a_replay_of_the_newest_end_changes_nothing(rows, shop, turn):
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("first one"))
    await talk.invoke(shop.say(turn))
    before = await talk.texts()
    end = (await talk.state()).config
    runs = list(shop.runs)
    await talk.invoke(None, end)
    assert await talk.texts() == before
    assert shop.runs == runs


@pytest.mark.fast_cases(2)
async def test_an_old_end_keeps_an_answer_that_had_to_be_redacted(rows, shop):
    shop.model.answer = lambda messages: AIMessage(f"write to {shop.email}")
    talk = rows.talk(shop.loop)
    await talk.invoke(shop.say("first one"))
    first_end = (await talk.state()).config
    await talk.invoke(shop.say("second one"))
    await talk.invoke(shop.say("something else"), first_end)
    expected = ["h:first one", "a:write to", "h:something else", "a:write to"]
    assert await talk.texts() == expected
    assert await rows.talk(shop.loop).texts() == expected
