"""Tools that a policy names: their calls and results are in the next turn, redacted, and nothing is of any other tool."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, tool
from testkit.houses import House

from discreet.checkpoint import REDACT, CheckpointPolicy

POLICY = CheckpointPolicy(tools={"search_orders": REDACT})


def tools(house: House, *, result: str = "") -> list[BaseTool]:
    @tool(response_format="content_and_artifact")
    def search_orders(query: str) -> tuple[str, dict[str, str]]:
        """Search orders."""
        return result or house.text("order"), {"rows": house.raw("artifact")}

    @tool
    def look_up(query: str) -> str:
        """Look something up."""
        return house.raw("result")

    return [search_orders, look_up]


def call(house: House, *names: str) -> AIMessage:
    """Return calls of tools at once, each with an argument of its own, and a text beside them."""
    args = {"search_orders": house.text("argument"), "look_up": house.raw("args")}
    calls = [{"name": name, "args": {"query": args[name]}, "id": f"call_{at}"} for at, name in enumerate(names)]
    return AIMessage(house.raw("beside"), tool_calls=calls, response_metadata={"trace": house.raw("metadata")})


async def next_prompt(house: House, run: Any, given: list[BaseTool]) -> list[BaseMessage]:
    """Ask a follow-up question in another process; the model refuses calls without results as providers do."""
    model = house.model(house.answer("follows"))
    async with house.saver(POLICY) as saver:
        await run(create_agent(model, given, checkpointer=saver), {"messages": [house.user("more")]}, house.config)
    prompt: list[BaseMessage] = list(model.prompts[0])
    return prompt


@pytest.mark.parametrize(
    "called",
    [[["search_orders"]], [["look_up", "search_orders"]], [["search_orders"], ["look_up"], ["search_orders"]]],
    ids=["alone", "beside another", "in turn"],
)
async def test_a_follow_up_question_has_the_call_and_its_result(house, run, called):
    responses = [*(call(house, *names) for names in called), house.answer("done")]
    async with house.saver(POLICY) as saver:
        graph = create_agent(house.model(*responses), tools(house), checkpointer=saver)
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    prompt = await next_prompt(house, run, tools(house))
    times = sum("search_orders" in names for names in called)
    assert [message.type for message in prompt] == ["human", *["ai", "tool"] * times, "ai", "human"]
    for asked, told in zip(prompt[1:-2:2], prompt[2:-2:2], strict=True):
        [kept] = asked.tool_calls
        assert (kept["name"], kept["id"], asked.text) == ("search_orders", told.tool_call_id, "")
        assert house.keep("argument") in kept["args"]["query"]
        assert house.keep("order") in told.text
        assert house.email not in str(kept) + told.text
        assert (told.name, told.status, told.artifact) == ("search_orders", "success", None)
    house.check()


async def test_an_error_is_a_result_too_and_a_long_one_is_cut(house, run):
    @tool
    def search_orders(query: str) -> str:
        """Search orders."""
        return "".join(f"Line {number} of the list.\n" for number in range(2_000))

    async with house.saver(POLICY) as saver:
        bad = AIMessage("", tool_calls=[{"name": "search_orders", "args": {"wrong": 1}, "id": "call_1"}])
        graph = create_agent(
            house.model(bad, call(house, "search_orders"), house.answer("done")), [search_orders], checkpointer=saver
        )
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    prompt = await next_prompt(house, run, [search_orders])
    failed, long = (message for message in prompt if message.type == "tool")
    assert failed.status == "error"
    assert re.search(r"\n\[\d{5} more characters were not kept\]$", long.text)
    assert long.text.startswith("Line 0 of the list.")
    assert len(long.text) < 10_100


async def test_without_a_name_nothing_of_a_tool_is_kept(house, run):
    async with house.saver() as saver:
        graph = create_agent(house.model(house.call("look_up"), house.answer("done")), tools(house), checkpointer=saver)
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    prompt = await next_prompt(house, run, tools(house))
    assert [message.type for message in prompt] == ["human", "ai", "human"]
    house.check()
