"""A tool that raises: a retry runs what failed alone, a new message goes on without the call that nothing answers."""

import threading

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import Command, Send

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver
from discreet.graph import build_graph
from discreet.state.conversation import InputState
from discreet.testing import PromptRefusedError


def react(shop):
    def make(saver):
        with pytest.warns(DeprecationWarning, match="create_react_agent"):
            return create_react_agent(shop.model, ToolNode(shop.tools, handle_tool_errors=False), checkpointer=saver)

    return make


SHAPES = {
    "loop": lambda shop: shop.loop,
    "react": react,
    "agent": lambda shop: lambda saver: create_agent(shop.model, shop.tools, checkpointer=saver),
}


@pytest.fixture(params=sorted(SHAPES))
def make(request, shop):
    return SHAPES[request.param](shop)


async def fail(talk, shop, text, **options):
    with pytest.raises(LookupError):
        await talk.invoke(shop.say(text), **options)


@pytest.mark.fast_cases(3)
async def test_a_retry_runs_the_tool_alone(rows, shop, make, durability):
    talk = rows.talk(make)
    await fail(talk, shop, "use:fail one", **durability)
    assert (await talk.state()).next == ("tools",)
    await fail_again(talk, durability)
    shop.broken = False
    result = await talk.invoke(None, **durability)
    assert (len(shop.model.prompts), shop.attempts, shop.runs) == (2, ["fail"] * 3, ["fail"])
    assert result["messages"][-1].text == "answer to use:fail one after 1 results"
    assert await talk.texts() == ["h:use:fail one", "a:answer to"]


async def fail_again(talk, durability):
    with pytest.raises(LookupError):
        await talk.invoke(None, **durability)


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("before", [0, 1], ids=["first-turn", "later-turn"])
async def test_a_new_message_goes_on_without_the_call(rows, shop, make, durability, before):
    talk = rows.talk(make)
    for _ in range(before):
        await talk.invoke(shop.say("first one"), **durability)
    await fail(talk, shop, "use:fail one", **durability)
    await talk.invoke(shop.say("never mind"), **durability)
    assert shop.model.refused == 0
    expected = ["h:first one", "a:answer to"] * before + ["h:use:fail one", "h:never mind", "a:answer to"]
    assert await talk.texts() == expected
    assert await rows.talk(make).texts() == expected
    assert (await talk.state()).next == ()
    await talk.invoke(shop.say("use:note again"), **durability)
    assert (shop.model.refused, shop.runs) == (0, ["note"])


@pytest.mark.fast_cases(3)
async def test_a_new_message_after_several_retries(rows, shop, make, durability):
    talk = rows.talk(make)
    await fail(talk, shop, "use:fail one", **durability)
    for _ in range(2):
        await fail_again(talk, durability)
    await talk.invoke(shop.say("never mind"), **durability)
    assert shop.model.refused == 0
    assert await talk.texts() == ["h:use:fail one", "h:never mind", "a:answer to"]


@pytest.mark.fast_cases(3)
async def test_a_failing_message_after_a_failure(rows, shop, make, durability):
    talk = rows.talk(make)
    await fail(talk, shop, "use:fail one", **durability)
    await fail(talk, shop, "use:fail two", **durability)
    shop.broken = False
    await talk.invoke(None, **durability)
    assert shop.model.refused == 0
    assert await talk.texts() == ["h:use:fail one", "h:use:fail two", "a:answer to"]


@pytest.mark.fast_cases(3)
async def test_the_call_that_failed_after_one_that_worked_in_the_same_turn(rows, shop, durability):
    """The second round of tools fails: the first round's call and result are not dangling, and go with the turn."""
    rounds = iter(["note", "fail"])

    def answer(messages):
        message = shop._answer(messages)
        if (name := next(rounds, None)) is None:
            return message
        return message.model_copy(
            update={"tool_calls": [{"name": name, "args": {"query": "x"}, "id": f"call-{name}", "type": "tool_call"}]}
        )

    shop.model.answer = answer
    talk = rows.talk(shop.loop)
    await fail(talk, shop, "hello there", **durability)
    await talk.invoke(shop.say("never mind"), **durability)
    assert shop.model.refused == 0
    assert await talk.texts() == ["h:hello there", "h:never mind", "a:answer to"]


@pytest.mark.fast_cases(2)
async def test_on_another_replica_the_turn_runs_again_from_its_message(rows, shop, make, durability):
    await fail(rows.talk(make), shop, "use:fail one", **durability)
    shop.broken = False
    there = rows.talk(make)
    result = await there.invoke(None, **durability)
    if durability["durability"] != "exit":
        assert result["messages"][-1].text == "answer to use:fail one after 1 results"
    assert shop.model.refused == 0
    assert (await there.texts())[0] == "h:use:fail one"


@pytest.mark.fast_cases(4)
async def test_on_another_replica_a_new_message_is_answered(rows, shop, make, durability):
    await fail(rows.talk(make), shop, "use:fail one", **durability)
    there = rows.talk(make)
    await there.invoke(shop.say("never mind"), **durability)
    assert shop.model.refused == 0
    assert await there.texts() == ["h:use:fail one", "h:never mind", "a:answer to"]


WATCHED = ["tasks", "custom"]
"""With "custom" the sync stream too delivers what comes while tasks run."""


async def watch(stream, node, count, done):
    """Set `done` once the results of `count` calls of `node` are in."""
    async for _, part in stream:
        count -= part["name"] == node and bool(part.get("result"))
        if count == 0:
            done.set()


async def run_until_noted(talk, shop, text, **options):
    """Run `text`, which uses `note` and `fail`; `fail` raises once the result of `note` is in."""
    noted = threading.Event()
    shop.before_failing = lambda: noted.wait(60)
    with pytest.raises(LookupError):
        await watch(talk.stream(shop.say(text), stream_mode=WATCHED, **options), "tools", 1, noted)
    assert noted.is_set()
    shop.before_failing = lambda: None


@pytest.mark.parametrize("shape", ["react", "agent"])
async def test_of_parallel_calls_a_retry_runs_only_the_one_that_failed(rows, shop, shape, durability):
    talk = rows.talk(SHAPES[shape](shop))
    await run_until_noted(talk, shop, "use:note use:fail", **durability)
    shop.broken = False
    result = await talk.invoke(None, **durability)
    assert shop.runs == ["note", "fail"]
    assert len([message for message in result["messages"] if isinstance(message, ToolMessage)]) == 2
    assert shop.model.refused == 0


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("shape", ["react", "agent"])
async def test_of_parallel_calls_with_one_failed_a_new_message_is_answered(rows, shop, shape, durability):
    talk = rows.talk(SHAPES[shape](shop))
    await run_until_noted(talk, shop, "use:note use:fail", **durability)
    await talk.invoke(shop.say("never mind"), **durability)
    assert shop.model.refused == 0
    assert await talk.texts() == ["h:use:note use:fail", "h:never mind", "a:answer to"]
    assert shop.runs == ["note"]


async def test_a_result_given_by_hand_is_used(rows, shop, durability):
    talk = rows.talk(shop.loop)
    await fail(talk, shop, "use:fail one", **durability)
    call = (await talk.state()).values["messages"][-1].tool_calls[0]
    await talk.update({"messages": [ToolMessage("by hand", tool_call_id=call["id"])]}, as_node="tools")
    assert (await talk.state()).next == ("model",)
    result = await talk.invoke(None, **durability)
    assert result["messages"][-1].text == "answer to use:fail one after 1 results"
    assert (shop.attempts, shop.model.refused) == (["fail"], 0)
    assert await talk.texts() == ["h:use:fail one", "a:answer to"]


async def test_the_state_after_a_failure_shows_the_call_and_its_task(rows, shop):
    talk = rows.talk(shop.loop)
    await fail(talk, shop, "use:fail one")
    state = await talk.state()
    assert state.next == ("tools",)
    assert [message.type for message in state.values["messages"]] == ["human", "ai"]
    (task,) = state.tasks
    assert "raw error" in str(task.error)


async def test_a_first_node_that_fails_is_retried_or_left(rows, shop, durability):
    talk = rows.talk(shop.guarded)
    await fail(talk, shop, "gate:fail one", **durability)
    await talk.invoke(shop.say("never mind"), **durability)
    assert await talk.texts() == ["h:gate:fail one", "h:never mind", "a:answer to"]
    await fail(talk, shop, "gate:fail two", **durability)
    shop.broken = False
    await talk.invoke(None, **durability)
    assert (await talk.texts())[3:] == ["h:gate:fail two", "a:answer to"]


async def test_the_template_answers_with_its_tools_error(asynchronous, shop):
    graph = build_graph(chat_model=shop.model, tools=shop.tools).compile(checkpointer=asynchronous.open())
    config = {"configurable": {"thread_id": "1"}}
    await graph.ainvoke(shop.say("use:fail one"), config)
    await graph.ainvoke(shop.say("never mind"), config)
    assert shop.model.refused == 0
    kinds = [message.type for message in (await graph.aget_state(config)).values["messages"]]
    assert kinds == ["human", "ai"] * 2


async def test_of_parallel_sends_a_retry_runs_only_the_one_that_failed(rows, shop, durability):
    runs, others_done = [], threading.Event()
    broken = [True]

    def work(packet):
        if packet["number"] == 1 and broken:
            assert others_done.wait(60)
            raise LookupError("raw")
        runs.append(packet["number"])
        return {"messages": [("user", f"part {packet['number']}")]}

    builder = StateGraph(InputState)
    builder.add_node("work", work)
    builder.add_node("model", shop._call_model)
    builder.add_conditional_edges(START, lambda _: [Send("work", {"number": n}) for n in range(3)], ["work"])
    builder.add_edge("work", "model")
    builder.add_edge("model", END)
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    with pytest.raises(LookupError):
        await watch(talk.stream(shop.say("hello there"), stream_mode=WATCHED, **durability), "work", 2, others_done)
    broken.clear()
    result = await talk.invoke(None, **durability)
    assert sorted(runs) == [0, 1, 2]
    given, *parts, answer = [message.text for message in result["messages"]]
    assert (given.split()[:2], sorted(parts)) == (["hello", "there"], ["part 0", "part 1", "part 2"])
    stored = (await talk.state()).values["messages"]
    assert [(message.type, message.text) for message in stored[1:]] == [("ai", answer)], "the parts are not the user's"
    assert await talk.texts() == ["h:hello there", "a:answer to"]


@pytest.mark.fast_cases(3)
async def test_a_retry_goes_on_where_different_nodes_ran_side_by_side(rows, shop, durability):
    builder, audited = StateGraph(InputState), []
    builder.add_node("model", shop._call_model)
    builder.add_node("plan", lambda _: {})
    builder.add_node("audit", lambda _: audited.append("audit") or {})
    builder.add_node("tools", ToolNode(shop.tools, handle_tool_errors=False))
    builder.add_edge(START, "model")
    builder.add_conditional_edges(
        "model", lambda state: "plan" if state["messages"][-1].tool_calls else END, ["plan", END]
    )
    builder.add_edge("plan", "tools")
    builder.add_edge("plan", "audit")
    builder.add_edge("tools", "model")
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    await fail(talk, shop, "use:fail one", **durability)
    shop.broken = False
    await talk.invoke(None, **durability)
    assert (len(shop.model.prompts), shop.runs) == (2, ["fail"])
    assert await talk.texts() == ["h:use:fail one", "a:answer to"]
    assert shop.model.refused == 0


async def test_stock_refuses_the_new_message_that_ours_answers(stock, shop):
    talk = stock.talk(shop.loop)
    await fail(talk, shop, "use:fail one")
    with pytest.raises(PromptRefusedError):
        await talk.invoke(shop.say("never mind"))


async def test_a_retry_by_an_empty_resume_is_no_approval(rows, shop):
    """`Command(resume=…)` where nothing asked, in the process that holds the turn: the failed tool is just retried."""
    talk = rows.talk(shop.loop)
    await fail(talk, shop, "use:fail one")
    shop.broken = False
    await talk.invoke(Command(resume="yes"))
    assert shop.runs == ["fail"]
    assert shop.model.refused == 0


def test_the_policy_does_not_change_what_a_retry_needs(shop):
    saver = RedactingSaver(InMemorySaver(), policy=CheckpointPolicy(messages=("messages",), channels={"note": KEEP}))
    graph, config = shop.loop(saver), {"configurable": {"thread_id": "1"}}
    with pytest.raises(LookupError):
        graph.invoke(shop.say("use:fail one"), config)
    shop.broken = False
    assert len(graph.invoke(None, config)["messages"]) == 4
