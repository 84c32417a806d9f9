"""LangGraph goes on working over a saver that stores a part of what it is given."""

import asyncio

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

THREAD = {"configurable": {"thread_id": "1"}}


def kinds(state):
    return [message.type for message in state["messages"]]


async def test_a_second_turn_goes_on_from_the_first(agent, open_saver):
    graph = agent.compile(open_saver())
    await graph.ainvoke(agent.say("use the tool"), THREAD)
    result = await graph.ainvoke(agent.say("thanks"), THREAD)
    assert kinds(result)[:3] == ["human", "ai", "human"]
    state = await graph.aget_state(THREAD)
    assert kinds(state.values) == ["human", "ai", "human", "ai"]
    assert state.next == ()


async def test_the_tool_loop_sees_its_own_results_while_the_turn_runs(agent, open_saver):
    result = await agent.compile(open_saver()).ainvoke(agent.say("use the tool"), THREAD)
    (tool_message,) = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert agent.plant("result") in tool_message.text


async def test_every_stream_mode_delivers(agent, open_saver):
    graph = agent.compile(open_saver())
    modes = ["values", "updates", "messages", "checkpoints", "tasks"]
    seen = {mode async for mode, _ in graph.astream(agent.say("use the tool"), THREAD, stream_mode=modes)}
    assert seen == set(modes)


async def test_threads_are_kept_apart_when_they_run_at_once(agent, open_saver):
    graph = agent.compile(open_saver())

    async def talk(number):
        config = {"configurable": {"thread_id": str(number)}}
        for turn in range(2):
            await graph.ainvoke(agent.say(f"use the tool {number}/{turn} "), config)
        return (await graph.aget_state(config)).values

    for number, values in enumerate(await asyncio.gather(*map(talk, range(20)))):
        assert kinds(values) == ["human", "ai"] * 2
        said = [message.text.split()[3] for message in values["messages"] if isinstance(message, HumanMessage)]
        assert said == [f"{number}/{turn}" for turn in range(2)]


async def test_a_new_message_after_a_failed_tool_gets_its_answer(agent, open_saver):
    graph = agent.compile(open_saver())
    with pytest.raises(LookupError):
        await graph.ainvoke(agent.say("tool, raise"), THREAD)
    await graph.ainvoke(agent.say("never mind"), THREAD)
    state = await graph.aget_state(THREAD)
    assert kinds(state.values) == ["human", "human", "ai"]
    assert state.next == ()


async def test_a_failed_tool_is_retried_alone_in_the_same_process(agent, open_saver):
    graph = agent.compile(open_saver())
    with pytest.raises(LookupError):
        await graph.ainvoke(agent.say("tool, raise"), THREAD)
    assert (await graph.aget_state(THREAD)).next == ("tools",)
    with pytest.raises(LookupError):
        await graph.ainvoke(None, THREAD)
    assert agent.tool_runs == 2


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_an_interrupt_resumes_in_the_same_process_with_the_whole_answer(agent, open_saver, durability):
    graph = agent.compile(open_saver())
    paused = await graph.ainvoke(agent.say("tool, pause"), THREAD, durability=durability)
    assert agent.plant("interrupt") in str(paused["__interrupt__"][0].value)
    state = await graph.aget_state(THREAD)
    assert state.next == ("tools",)
    assert agent.plant("interrupt") in str(state.interrupts[0].value)
    result = await graph.ainvoke(Command(resume="a long free answer"), THREAD, durability=durability)
    assert "a long free answer" in result["messages"][-2].text
    assert agent.tool_runs == 1
    assert kinds((await graph.aget_state(THREAD)).values) == ["human", "ai"]


async def test_an_interrupt_inside_a_subgraph_resumes(agent, open_saver):
    graph = agent.compile(open_saver(), tools=agent.as_subgraph())
    await graph.ainvoke(agent.say("tool, pause"), THREAD)
    state = await graph.aget_state(THREAD, subgraphs=True)
    assert state.tasks[0].state.next == ("work",)
    result = await graph.ainvoke(Command(resume="the answer"), THREAD)
    assert "the answer" in "".join(message.text for message in result["messages"] if isinstance(message, ToolMessage))
    assert agent.tool_runs == 1


async def test_a_static_breakpoint_stops_and_goes_on(agent, open_saver):
    graph = agent.compile(open_saver(), interrupt_before=["tools"])
    await graph.ainvoke(agent.say("use the tool"), THREAD)
    assert agent.tool_runs == 0
    result = await graph.ainvoke(None, THREAD)
    assert agent.tool_runs == 1
    assert kinds(result)[-1] == "ai"


async def test_every_parent_in_the_history_exists(agent, open_saver):
    graph = agent.compile(open_saver())
    for _ in range(3):
        await graph.ainvoke(agent.say("use the tool"), THREAD)
    history = [state async for state in graph.aget_state_history(THREAD)]
    ids = [state.config["configurable"]["checkpoint_id"] for state in history]
    assert ids == sorted(ids, reverse=True)
    assert [state.parent_config["configurable"]["checkpoint_id"] for state in history[:-1]] == ids[1:]
    assert history[-1].parent_config is None
    assert [item async for item in graph.aget_state_history(THREAD, limit=2)] == history[:2]


async def test_history_of_an_open_turn_comes_before_what_is_stored(agent, open_saver):
    graph = agent.compile(open_saver())
    await graph.ainvoke(agent.say("hello"), THREAD)
    await graph.ainvoke(agent.say("tool, pause"), THREAD)
    history = [state async for state in graph.aget_state_history(THREAD)]
    ids = [state.config["configurable"]["checkpoint_id"] for state in history]
    assert ids == sorted(set(ids), reverse=True)
    assert history[0].next == ("tools",)
    assert history[-1].metadata["source"] == "input"


async def test_the_state_can_be_updated_between_turns_and_in_a_pause(agent, open_saver):
    graph = agent.compile(open_saver())
    await graph.ainvoke(agent.say("hello"), THREAD)
    await graph.aupdate_state(THREAD, {"messages": [AIMessage("edited")]}, as_node="persist_filtered")
    assert (await graph.aget_state(THREAD)).values["messages"][-1].text == "edited"
    await graph.ainvoke(agent.say("tool, pause"), THREAD)
    await graph.aupdate_state(THREAD, {"note": "seen"}, as_node="assistant")
    state = await graph.aget_state(THREAD)
    assert (state.values["note"], state.next) == ("seen", ("tools",))


async def test_a_closed_turn_can_be_forked(agent, open_saver):
    graph = agent.compile(open_saver())
    await graph.ainvoke(agent.say("first"), THREAD)
    first = (await graph.aget_state(THREAD)).config
    await graph.ainvoke(agent.say("second"), THREAD)
    await graph.ainvoke(agent.say("instead"), first)
    texts = [message.text.split()[0] for message in (await graph.aget_state(THREAD)).values["messages"]]
    assert texts == ["first", "Done", "instead", "Done"]


async def test_another_replica_sees_closed_turns_and_goes_on(agent, open_saver):
    here, there = agent.compile(open_saver()), agent.compile(open_saver())
    await here.ainvoke(agent.say("use the tool"), THREAD)
    assert kinds((await there.aget_state(THREAD)).values) == ["human", "ai"]
    await there.ainvoke(agent.say("use the tool"), THREAD)
    assert kinds((await here.aget_state(THREAD)).values) == ["human", "ai", "human", "ai"]


async def test_a_reload_elsewhere_neither_repeats_nor_skips_a_node(agent, open_saver):
    await agent.compile(open_saver()).ainvoke(agent.say("use the tool"), THREAD)
    there = agent.compile(open_saver())
    assert (await there.aget_state(THREAD)).next == ()
    ran = [name async for update in there.astream(agent.say("use the tool"), THREAD) for name in update]
    assert ran == [
        "save_input",
        "memory_gate",
        "retrieve_memories",
        "assistant",
        "tools",
        "assistant",
        "persist_filtered",
    ]


async def test_an_open_turn_that_another_replica_has_left_behind_is_dropped(agent, open_saver):
    here, there = agent.compile(open_saver()), agent.compile(open_saver())
    await here.ainvoke(agent.say("tool, pause"), THREAD)
    await there.ainvoke(agent.say("something else"), THREAD)
    state = await here.aget_state(THREAD)
    assert (kinds(state.values), state.next) == (["human", "human", "ai"], ())


async def test_an_answer_given_to_another_replica_runs_no_tool(agent, open_saver):
    await agent.compile(open_saver()).ainvoke(agent.say("tool, pause"), THREAD)
    there = agent.compile(open_saver())
    await there.ainvoke(Command(resume="yes"), THREAD)
    assert agent.tool_runs == 0


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_the_message_of_a_lost_turn_is_kept(agent, open_saver, durability):
    with pytest.raises(LookupError):
        await agent.compile(open_saver()).ainvoke(agent.say("tool, raise"), THREAD, durability=durability)
    result = await agent.compile(open_saver()).ainvoke(agent.say("again"), THREAD, durability=durability)
    assert [text.split()[0] for text in (message.text for message in result["messages"]) if text[:3] != "raw"] == [
        "tool,",
        "again",
        "Done",
    ]


async def test_a_lost_turn_runs_again_from_its_message_however_often_it_is_lost(agent, open_saver):
    with pytest.raises(LookupError):
        await agent.compile(open_saver()).ainvoke(agent.say("tool, raise"), THREAD)
    for runs in (2, 3):
        with pytest.raises(LookupError):
            await agent.compile(open_saver()).ainvoke(None, THREAD)
        assert agent.tool_runs == runs


async def test_a_deleted_thread_is_gone_from_both_tiers(agent, open_saver):
    saver = open_saver()
    graph = agent.compile(saver)
    await graph.ainvoke(agent.say("hello"), THREAD)
    await graph.ainvoke(agent.say("tool, pause"), THREAD)
    await saver.adelete_thread("1")
    assert (await graph.aget_state(THREAD)).values == {}
