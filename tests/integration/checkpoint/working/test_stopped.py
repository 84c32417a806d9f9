"""Runs that are stopped: cancelled by their caller, or by LangGraph's limit of steps."""

import asyncio
from contextlib import suppress

import pytest
from langchain_core.messages import AIMessage
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph

from discreet.state.conversation import InputState
from discreet.testing import PromptRefusedError


def waiting(shop, reached, gate):
    """A graph whose second node waits, so that it can be cancelled there."""

    async def work(_):
        reached.set()
        shop.attempts.append("work")
        await gate.wait()
        shop.runs.append("work")
        return {}

    async def model(state):
        return {"messages": [await shop.model.ainvoke(state["messages"])]}

    builder = StateGraph(InputState)
    builder.add_node("before", lambda _: shop.attempts.append("before"))
    builder.add_node("work", work)
    builder.add_node("model", model)
    builder.add_edge(START, "before")
    builder.add_edge("before", "work")
    builder.add_edge("work", "model")
    builder.add_edge("model", END)
    return lambda saver: builder.compile(checkpointer=saver)


async def go_on(talk, shop, **options):
    """Say something new. No step has failed, so the first message meets the calls that wait for their results."""
    with suppress(PromptRefusedError):
        await talk.invoke(shop.say("second one"), **options)
    await talk.invoke(shop.say("third one"), **options)
    assert shop.model.refused <= 1
    assert (await talk.texts())[-2:] == ["h:third one", "a:answer to"]


async def cancel(talk, shop, reached, text, **options):
    running = asyncio.create_task(talk.invoke(shop.say(text), **options))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_cancelled_turn_goes_on_where_it_was(asynchronous, shop, durability):
    reached, gate = asyncio.Event(), asyncio.Event()
    talk = asynchronous.talk(waiting(shop, reached, gate))
    await cancel(talk, shop, reached, "first one", **durability)
    gate.set()
    if durability["durability"] != "exit":  # which stores nothing of a run that is cancelled
        await talk.invoke(None, **durability)
        assert shop.attempts == ["before", "work", "work"]
        assert await talk.texts() == ["h:first one", "a:answer to"]


async def test_a_new_message_after_a_cancelled_turn(asynchronous, shop, durability):
    reached, gate = asyncio.Event(), asyncio.Event()
    talk = asynchronous.talk(waiting(shop, reached, gate))
    await cancel(talk, shop, reached, "first one", **durability)
    gate.set()
    await talk.invoke(shop.say("second one"), **durability)
    assert shop.model.refused == 0
    texts = await talk.texts()
    assert texts[-2:] == ["h:second one", "a:answer to"]
    if durability["durability"] != "exit":
        assert texts[0] == "h:first one"
    assert await asynchronous.talk(waiting(shop, reached, gate)).texts() == texts


async def test_a_turn_cancelled_while_a_tool_is_called_is_no_obstacle(asynchronous, shop, durability):
    reached, gate = asyncio.Event(), asyncio.Event()

    async def tools(_):
        reached.set()
        await gate.wait()
        return {}

    builder = StateGraph(InputState)
    builder.add_node("model", shop._call_model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", END)
    talk = asynchronous.talk(lambda saver: builder.compile(checkpointer=saver))
    await cancel(talk, shop, reached, "use:note one", **durability)
    await go_on(talk, shop, **durability)


@pytest.mark.fast_cases(3)
async def test_a_stream_that_is_left_is_no_obstacle(rows, shop, durability):
    talk = rows.talk(shop.loop)
    stream = talk.stream(shop.say("use:note one"), stream_mode="updates", **durability)
    async for _ in stream:
        break
    await stream.aclose()
    await go_on(talk, shop, **durability)


@pytest.mark.fast_cases(3)
async def test_a_new_message_after_the_limit_of_steps(rows, shop, durability):
    def endless(messages):
        asked = next(message for message in reversed(messages) if message.type == "human")
        if not asked.text.startswith("hello there"):
            return shop._answer(messages)
        call = {"name": "note", "args": {"query": "x"}, "id": f"call-{len(messages)}"}
        return AIMessage("", tool_calls=[call])

    shop.model.answer = endless
    talk = rows.talk(shop.loop)
    with pytest.raises(GraphRecursionError):
        await talk.invoke(shop.say("hello there"), {**talk.config, "recursion_limit": 5}, **durability)
    await go_on(talk, shop, **durability)


@pytest.mark.parametrize("limit", [1, 2])  # of the three steps
async def test_a_run_goes_on_after_the_limit_of_steps(rows, shop, limit):
    talk = rows.talk(shop.loop)
    with pytest.raises(GraphRecursionError):
        await talk.invoke(shop.say("use:note one"), {**talk.config, "recursion_limit": limit})
    await talk.invoke(None)
    assert shop.runs == ["note"]
    assert await talk.texts() == ["h:use:note one", "a:answer to"]
