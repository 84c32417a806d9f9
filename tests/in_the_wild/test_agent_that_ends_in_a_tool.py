"""`create_agent` whose turn ends in something else than the model's text: a structured answer, or a tool that answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel
from testkit.houses import House

from discreet.checkpoint import CheckpointPolicy

pytestmark = pytest.mark.slow


class Report(BaseModel):
    """What is to be filled in."""

    summary: str
    stars: int


def by_tool(house: House) -> AIMessage:
    return house.call("Report", summary=house.text("summary"), stars=4)


def by_provider(house: House) -> AIMessage:
    return AIMessage(json.dumps({"summary": house.text("summary"), "stars": 4}))


STRATEGIES: dict[str, tuple[Any, Callable[[House], AIMessage]]] = {
    "tool": (ToolStrategy(Report), by_tool),
    "provider": (ProviderStrategy(Report), by_provider),
}


def look_up(house: House) -> BaseTool:
    @tool
    def look_up(query: str) -> str:
        """Look something up."""
        return house.raw("result")

    return look_up


def plain(house: House, saver: Any, *responses: Any) -> Any:
    return create_agent(house.model(*responses), [look_up(house)], checkpointer=saver)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_structured_response_is_an_answer(house, run, strategy):
    response_format, response = STRATEGIES[strategy]
    async with house.saver() as saver:
        graph = create_agent(
            house.model(house.call("look_up"), response(house)),
            [look_up(house)],
            response_format=response_format,
            checkpointer=saver,
        )
        out = await run(graph, {"messages": [house.user("ask")]}, house.config)
    assert out["structured_response"].stars == 4
    async with house.saver() as saver:
        state = await plain(house, saver).aget_state(house.config)
        messages = state.values["messages"]
        assert house.told(messages) == [("human", "ask"), ("ai", "summary")], "the answer is there once"
        told = json.loads(messages[-1].text)
        assert told["stars"] == 4
        assert house.email not in told["summary"]
        graph = plain(house, saver, house.answer("fine"))
        await run(graph, {"messages": [house.user("more")]}, house.config)
    expected = [("human", "ask"), ("ai", "summary"), ("human", "more"), ("ai", "fine")]
    assert await house.after_restart(lambda saver: plain(house, saver)) == expected
    house.check()


def direct(house: House, saver: Any, text: str, *responses: Any) -> Any:
    @tool(return_direct=True)
    def show(query: str) -> str:
        """Show it to the user as it is."""
        return text

    return create_agent(house.model(*responses), [show], checkpointer=saver)


async def test_a_tool_that_answers_the_user_is_told_and_its_text_is_not(house, run):
    async with house.saver() as saver:
        graph = direct(house, saver, house.raw("direct"), house.call("show"))
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    async with house.saver() as saver:
        graph = direct(house, saver, "", house.answer("fine"))
        messages = (await graph.aget_state(house.config)).values["messages"]
        assert house.told(messages) == [("human", "ask"), ("ai", "")], "a line has to say that the tool answered"
        assert messages[-1].text.strip(), "the line is empty"
        await run(graph, {"messages": [house.user("more")]}, house.config)
    expected = [("human", "ask"), ("ai", ""), ("human", "more"), ("ai", "fine")]
    assert await house.after_restart(lambda saver: direct(house, saver, "")) == expected
    house.check()


async def test_the_text_of_a_tool_that_the_policy_names_is_stored_redacted(house, run):
    policy = CheckpointPolicy(direct_tools=("show",))
    async with house.saver(policy) as saver:
        graph = direct(house, saver, house.text("direct"), house.call("show"))
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    assert await house.after_restart(lambda saver: direct(house, saver, "")) == [("human", "ask"), ("ai", "direct")]
    house.check()
