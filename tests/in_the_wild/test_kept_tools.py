"""Tools that a policy names: their calls and results are in the next turn, redacted, and nothing is of any other tool."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from testkit.houses import House

from discreet.checkpoint import REDACT, CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.graph.memory_agent import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.redaction.vault import InMemoryTurnVault
from discreet.testing import InMemoryConversationLog, InMemoryMemories
from discreet.testing.strict_model import StrictChatModel

POLICY = CheckpointPolicy(tools={"search_orders": REDACT})


def template(model: Any, given: list[BaseTool], saver: Any, **options: Any) -> Any:
    return build_graph(chat_model=model, tools=given, vault=InMemoryTurnVault(), **options).compile(checkpointer=saver)


def with_memory(model: Any, given: list[BaseTool], saver: Any, **options: Any) -> Any:
    """Return an agent with the middleware; each has a vault of its own, as a process has."""
    memory = MemoryMiddleware(memories=InMemoryMemories(), model="offline", vault=InMemoryTurnVault(), **options)
    return create_agent(model, given, middleware=[memory], checkpointer=saver)


def bare(model: Any, given: list[BaseTool], saver: Any) -> Any:
    return create_agent(model, given, checkpointer=saver)


AGENTS: dict[str, Callable[..., Any]] = {"agent": bare, "template": template, "memory": with_memory}


@pytest.fixture(params=AGENTS)
def build(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return AGENTS[request.param]


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


async def next_prompt(house: House, run: Any, given: list[BaseTool], build: Callable[..., Any]) -> list[BaseMessage]:
    """Ask a follow-up question in another process, which has no vault in common with the first; the model refuses calls without results."""
    model = house.model(house.answer("follows"))
    async with house.saver(POLICY, vault=InMemoryTurnVault()) as saver:
        asked = HumanMessage(f"And {house.keep('more')}?")  # of whom another process has not been told
        await run(build(model, given, saver), {"messages": [asked]}, house.config)
    return [message for message in model.prompts[0] if message.type != "system"]


@pytest.mark.parametrize(
    "called",
    [[["search_orders"]], [["look_up", "search_orders"]], [["search_orders"], ["look_up"], ["search_orders"]]],
    ids=["alone", "beside another", "in turn"],
)
async def test_a_follow_up_question_has_the_call_and_its_result(house, run, build, called):
    responses = [*(call(house, *names) for names in called), house.answer("done")]
    async with house.saver(POLICY) as saver:
        graph = build(house.model(*responses), tools(house), saver)
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    prompt = await next_prompt(house, run, tools(house), build)
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


async def test_an_error_is_a_result_too_and_a_long_one_is_cut(house, run, build):
    @tool
    def search_orders(query: str) -> str:
        """Search orders."""
        return "".join(f"Line {number} of the list.\n" for number in range(2_000))

    async with house.saver(POLICY) as saver:
        bad = AIMessage("", tool_calls=[{"name": "search_orders", "args": {"wrong": 1}, "id": "call_1"}])
        graph = build(house.model(bad, call(house, "search_orders"), house.answer("done")), [search_orders], saver)
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    prompt = await next_prompt(house, run, [search_orders], build)
    failed, long = (message for message in prompt if message.type == "tool")
    assert failed.status == "error"
    assert re.search(r"\n\[\d{5} more characters were not kept\]$", long.text)
    assert long.text.startswith("Line 0 of the list.")
    assert len(long.text) < 10_100


async def test_without_a_name_nothing_of_a_tool_is_kept(house, run, build):
    async with house.saver() as saver:
        graph = build(house.model(house.call("look_up"), house.answer("done")), tools(house), saver)
        await run(graph, {"messages": [house.user("ask")]}, house.config)
    prompt = await next_prompt(house, run, tools(house), build)
    assert [message.type for message in prompt] == ["human", "ai", "human"]
    house.check()


@pytest.mark.parametrize("build", [template, with_memory])
@pytest.mark.parametrize("restore", [True, False])
async def test_what_is_kept_of_a_tool_is_the_same_turns_later(house, run, build, restore):
    """Its text goes through the mask again in every turn, whole, where the state holds placeholders all the time."""
    result = "\n".join(
        f"Order {number} of {house.email}" for number in range(100)
    )  # longer than what a state shows of others
    asked = house.user("ask", id="first")
    log = InMemoryConversationLog()
    states, vault = [], InMemoryTurnVault()
    for responses, said in (
        ([call(house, "search_orders"), house.answer("done")], asked),
        ([house.answer("follows")], HumanMessage(f"And {house.keep('more')}?")),
        ([house.answer("last")], HumanMessage(f"And {house.keep('most')}?")),
    ):
        async with house.saver(POLICY, vault=vault, restore=restore) as saver:
            graph = build(house.model(*responses), tools(house, result=result), saver, log=log)
            await run(graph, {"messages": [said]}, house.config)
            states.append((await graph.aget_state(house.config)).values["messages"])
    assert [message.type for message in states[-1]] == ["human", "ai", "tool", "ai", "human", "ai", "human", "ai"]
    first, *later = [[(m.id, m.content, getattr(m, "tool_calls", [])) for m in state[:4]] for state in states]
    assert later == [first, first]
    told = states[-1][2].text
    assert told.count("Order") == 100
    assert (house.email in told) is restore
    assert restore or house.email not in str(states)
    assert len(log.turns) == 3
    assert "Order" not in str(log.turns)
    house.check()


@pytest.mark.parametrize("build", [template, with_memory])
async def test_a_blocking_graph_and_one_in_ram_keep_them_too(house, build):
    def turns(saver: Any) -> Any:
        model = house.model(call(house, "look_up", "search_orders"), house.answer("done"), house.answer("follows"))
        graph = build(model, tools(house), saver)
        for said in (house.user("ask"), house.user("more")):
            graph.invoke({"messages": [said]}, house.config)
        return [message for message in model.prompts[-1] if message.type != "system"]

    with RedactingSyncSaver.from_conn_string(house.dsn, POLICY) as saver:
        on_disk = await asyncio.to_thread(turns, saver)
    in_ram = await asyncio.to_thread(turns, RedactingSaver(InMemorySaver(), policy=POLICY))
    elsewhere = await asyncio.to_thread(turns, InMemorySaver())
    assert [message.type for message in on_disk] == ["human", "ai", "tool", "ai", "human"]
    assert [message.type for message in in_ram] == [message.type for message in on_disk]
    assert [message.type for message in elsewhere] == ["human", "ai", "human"]
    house.check()


async def test_a_long_conversation_tells_no_result_as_an_answer(house, run):
    """What has no room word for word stands in a line: what was said and answered, nothing of tools."""
    number = itertools.count()

    def answer(prompt: list[BaseMessage]) -> AIMessage:
        if prompt[-1].type == "tool":
            return AIMessage("Found in the drawer. " + "It was there all the time. " * 20)
        return AIMessage(
            "", tool_calls=[{"name": "search_orders", "args": {"query": "it"}, "id": f"call_{next(number)}"}]
        )

    model = StrictChatModel(answer=answer)
    async with house.saver(POLICY) as saver:
        graph = template(model, tools(house, result="Secondhand lampshade. " * 60), saver, context_window_size=3_000)
        for turn in range(16):
            await run(graph, {"messages": [HumanMessage(f"Where is it this time, number {turn}?")]}, house.config)
    assert model.refused == 0
    system, *told = model.prompts[-1]
    assert "number 0" in system.text
    assert "lampshade" not in system.text
    assert any(message.type == "tool" for message in told[:-3])
