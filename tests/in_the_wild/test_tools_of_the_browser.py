"""A tool that the client runs, as those of AG-UI, CopilotKit and assistant-ui: its call ends a run, and its result comes alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from testkit.houses import House

from discreet.errors import TransientStateLostError
from discreet.graph.memory_agent import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.testing import InMemoryKeys, InMemoryMemories


def bare(saver: Any, model: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


def functional(saver: Any, model: Any) -> Any:
    @entrypoint(checkpointer=saver)
    async def chat(given: Any, *, previous: Any = None) -> Any:
        messages = add_messages(previous or [], given["messages"])
        return entrypoint.final(
            value={"messages": messages}, save=add_messages(messages, [await model.ainvoke(messages)])
        )

    return chat


def template(saver: Any, model: Any) -> Any:
    return build_graph(chat_model=model).compile(checkpointer=saver)


class Frontend(AgentMiddleware[Any, Any]):
    """Ends the run at a call of the client's tool, as those of CopilotKit and AG-UI do: tools of the server are there too."""

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "end"} if any(c["name"] == "scroll" for c in state["messages"][-1].tool_calls) else None


AGENTS: dict[str, Callable[[Any, Any], Any]] = {
    "bare": bare,
    "agent": lambda saver, model: create_agent(model, [], checkpointer=saver),
    "memory": lambda saver, model: create_agent(
        model,
        [],
        middleware=[MemoryMiddleware(memories=InMemoryMemories(), model="offline"), Frontend()],
        checkpointer=saver,
    ),
    "template": template,
    "functional": functional,
}


@pytest.fixture(params=AGENTS)
def build(request):
    return AGENTS[request.param]


def called(house: House) -> AIMessage:
    call = house.call("scroll", beside=house.text("looking"))
    call.tool_calls[0]["id"] = "call-1"
    return call


def result(house: House) -> dict[str, Any]:
    return {"messages": [ToolMessage(house.raw("result"), tool_call_id="call-1", name="scroll")]}


def shape(prompt: list[Any]) -> list[tuple[str, int]]:
    return [(m.type, len(getattr(m, "tool_calls", ()))) for m in prompt if m.type != "system"]


async def test_a_result_that_comes_alone_is_answered_as_with_the_stock_saver(house, run, build):
    async with house.saver() as saver:
        for each in (InMemorySaver(), saver):
            model = house.model(called(house), house.answer("done"), house.answer("fine"))
            graph = build(each, model)
            for given in ({"messages": [house.user("ask")]}, result(house), {"messages": [house.user("more")]}):
                await run(graph, given, house.config)
            assert shape(model.prompts[1]) == [("human", 0), ("ai", 1), ("tool", 0)]
    house.check(lost=["looking"])


async def test_another_message_instead_leaves_the_call_out(house, run, build):
    async with house.saver() as saver:
        model = house.model(called(house), house.answer("done"))
        graph = build(saver, model)
        for what in ("ask", "other"):
            await run(graph, {"messages": [house.user(what)]}, house.config)
        assert shape(model.prompts[1]) == [("human", 0), ("ai", 0), ("human", 0)]
    house.check()


async def test_a_process_without_the_call_says_so_and_goes_on(house, run, build):
    async with house.saver() as saver:
        await run(build(saver, house.model(called(house))), {"messages": [house.user("ask")]}, house.config)
    async with house.saver() as saver:
        model = house.model(house.answer("done"))
        graph = build(saver, model)
        with pytest.raises(TransientStateLostError):
            await run(graph, result(house), house.config)
        await run(graph, {"messages": [house.user("other")]}, house.config)
        assert shape(model.prompts[0])[-1] == ("human", 0)
    house.check()


async def test_with_a_key_another_process_takes_the_result(house, run, build):
    keys = InMemoryKeys()
    async with house.saver(keys=keys) as saver:
        await saver.setup()
        await run(build(saver, house.model(called(house))), {"messages": [house.user("ask")]}, house.config)
    async with house.saver(keys=keys) as saver:
        model = house.model(house.answer("done"))
        await run(build(saver, model), result(house), house.config)
        assert shape(model.prompts[0]) == [("human", 0), ("ai", 1), ("tool", 0)]
    house.check(lost=["looking"])
