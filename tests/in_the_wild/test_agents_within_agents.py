"""Sub-agents in every form: as a tool, as a node, stateful by `checkpointer=True`; their inside belongs to nobody's disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from testkit.houses import House

from discreet.checkpoint import CheckpointPolicy
from discreet.errors import TransientStateLostError

pytestmark = pytest.mark.slow


def inner_agent(house: House, *, asks: bool = False, checkpointer: Any = None) -> Any:
    """Return an agent whose every message is private; it finds out how many turns of its own it remembers."""

    @tool
    def look_up(query: str) -> str:
        """Look something up."""
        return house.raw("innerresult") + (interrupt(house.raw("innerquestion")) if asks else "")

    final = AIMessage(house.raw("inneranswer"))
    model = house.model(*[house.call("look_up", beside=house.raw("innerplan")), final] * 3)
    agent = create_agent(model, [look_up], system_prompt=house.raw("innersystem"), checkpointer=checkpointer)
    agent.model = model
    return agent


def as_tool(house: House, inner: Any) -> Callable[..., Any]:
    @tool
    async def ask_expert(query: str) -> str:
        """Ask the expert."""
        result = await inner.ainvoke({"messages": [HumanMessage(house.raw("innertask"))]})
        return house.raw("expertresult") + result["messages"][-1].text

    return ask_expert


def outer_with_tool(house: House, saver: Any, *responses: Any, inner: Any = None) -> Any:
    return create_agent(house.model(*responses), [as_tool(house, inner or inner_agent(house))], checkpointer=saver)


class Inner(MessagesState):
    note: str


def outer_with_node(house: House, saver: Any, *responses: Any, inner: Any = None) -> Any:
    """Return a graph that calls the agent in a node, with a task of its own and a channel of its own."""
    model = house.model(*responses)
    agent = inner or inner_agent(house)

    async def expert(state: MessagesState) -> dict[str, Any]:
        await agent.ainvoke({"messages": [HumanMessage(house.raw("innertask"))]})
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("expert", expert)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "expert")
    builder.add_edge("expert", "model")
    return builder.compile(checkpointer=saver)


def outer_with_subgraph(house: House, saver: Any, *responses: Any, inner: Any = None) -> Any:
    """Return a graph that has the agent for a node behind a graph that translates: a subgraph in a subgraph."""
    model = house.model(*responses)
    builder = StateGraph(Inner)
    builder.add_node("expert", lambda state: {"messages": [], "note": house.raw("innernote")})
    agent = inner or inner_agent(house)

    async def work(state: Inner) -> dict[str, Any]:
        await agent.ainvoke({"messages": [HumanMessage(house.raw("innertask"))]})
        return {"note": house.raw("innernote")}

    builder.add_node("work", work)
    builder.add_edge(START, "expert")
    builder.add_edge("expert", "work")
    middle = builder.compile()
    outer = StateGraph(MessagesState)
    outer.add_node("middle", middle)
    outer.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    outer.add_edge(START, "middle")
    outer.add_edge("middle", "model")
    return outer.compile(checkpointer=saver)


SHAPES: dict[str, Any] = {"tool": outer_with_tool, "node": outer_with_node, "subgraph": outer_with_subgraph}


def script(house: House, shape: str) -> list[Any]:
    return [*([house.call("ask_expert")] if shape == "tool" else []), house.answer("done")]


@pytest.mark.parametrize("checkpointer", [None, True], ids=["a thread a call", "stateful"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_the_inside_of_an_agent_does_not_reach_the_database(house, run, shape, checkpointer):
    def builds(saver: Any, *responses: Any) -> Any:
        return SHAPES[shape](house, saver, *responses, inner=inner_agent(house, checkpointer=checkpointer))

    async with house.saver() as saver:
        await run(builds(saver, *script(house, shape)), {"messages": [house.user("ask")]}, house.config)
        expected = [("human", "ask"), ("ai", "done")]
        assert await house.after_restart(builds) == expected
    async with house.saver() as saver:
        again = [*script(house, shape)[:-1], house.answer("fine")]
        await run(builds(saver, *again), {"messages": [house.user("more")]}, house.config)
    expected += [("human", "more"), ("ai", "fine")]
    assert await house.after_restart(builds) == expected
    house.check()


@pytest.mark.parametrize("checkpointer", [None, True], ids=["a thread a call", "stateful"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_an_agent_within_asks_and_is_answered_in_its_process_alone(house, run, shape, checkpointer):
    def builds(saver: Any, *responses: Any) -> Any:
        inner = inner_agent(house, asks=True, checkpointer=checkpointer)
        return SHAPES[shape](house, saver, *responses, inner=inner)

    async with house.saver() as saver:
        graph = builds(saver, *script(house, shape))
        assert (await run(graph, {"messages": [house.user("ask")]}, house.config))["__interrupt__"]
        async with house.saver() as other:
            with pytest.raises(TransientStateLostError):
                await run(builds(other, *script(house, shape)), Command(resume=house.raw("reply")), house.config)
        await run(graph, Command(resume=house.raw("reply")), house.config)
    assert await house.after_restart(builds) == [("human", "ask"), ("ai", "done")]
    house.check()


async def test_a_subgraph_that_the_policy_names_remembers_its_turns_after_a_restart(house, run):
    """Its messages are stored as the root's are: what came in and what was answered, redacted."""
    policy = CheckpointPolicy(subgraphs=("expert",))
    seen: list[list[tuple[str, str]]] = []

    def builds(saver: Any, what: str = "") -> Any:
        def think(state: MessagesState) -> dict[str, Any]:
            seen.append(house.told(state["messages"]))
            return {"messages": [house.call("look_up"), AIMessage(house.text(f"within{what}"))]}

        inner = StateGraph(MessagesState)
        inner.add_node("think", think)
        inner.add_edge(START, "think")
        outer = StateGraph(MessagesState)
        outer.add_node("expert", inner.compile(checkpointer=True))
        outer.add_edge(START, "expert")
        return outer.compile(checkpointer=saver)

    for what in ("one", "two"):
        async with house.saver(policy) as saver:
            await run(builds(saver, what), {"messages": [house.user(what)]}, house.config)
    assert seen[0] == [("human", "one")]
    assert seen[1][0] == ("human", "one")
    assert ("ai", "withinone") in seen[1], "the named subgraph forgot its turn"
    assert seen[1][-1] == ("human", "two")
    house.check()
