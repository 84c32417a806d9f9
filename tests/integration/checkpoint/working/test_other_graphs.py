"""Graphs of other shapes: the functional API, commands, joins, deferred nodes, caches, retries, error handlers."""

import operator
from typing import Annotated

import pytest
from langchain_core.messages import AIMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.channels import BinaryOperatorAggregate, DeltaChannel, LastValue
from langgraph.errors import NodeError
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt
from typing_extensions import TypedDict

from discreet.checkpoint import KEEP, REDACT, CheckpointPolicy
from discreet.errors import CheckpointError
from discreet.state.conversation import InputState


class Logged(InputState):
    log: Annotated[list[str], operator.add]


def thanks(_):
    return {"messages": [AIMessage("thanks")]}


async def test_the_functional_api_resumes_without_repeating_a_task(rows, durability):
    runs = []

    @task
    def look_up(text):
        runs.append(text)
        return "raw result"

    def make(saver):
        @entrypoint(checkpointer=saver)
        def flow(question):
            return look_up(question["text"]).result() + interrupt("raw question")

        return flow

    talk = rows.talk(make)
    assert "__interrupt__" in await talk.invoke({"text": "raw input"}, **durability)
    assert await talk.invoke(Command(resume=" raw answer"), **durability) == "raw result raw answer"
    assert runs == ["raw input"]


async def test_a_task_that_failed_is_retried_alone(rows, durability):
    runs, broken = [], [True]

    @task
    def first():
        runs.append("first")
        return 1

    @task
    def second():
        runs.append("second")
        if broken:
            raise LookupError
        return 2

    def make(saver):
        @entrypoint(checkpointer=saver)
        def flow(_):
            return first().result() + second().result()

        return flow

    talk = rows.talk(make)
    with pytest.raises(LookupError):
        await talk.invoke("go", **durability)
    broken.clear()
    assert await talk.invoke(None, **durability) == 3
    assert runs == ["first", "second", "second"]


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "not-named"])
async def test_the_functional_api_has_its_previous_value_if_the_policy_names_it(rows, durability, allowed):
    seen = []

    def make(saver):
        @entrypoint(checkpointer=saver)
        def flow(word, *, previous=None):
            seen.append(previous)
            return entrypoint.final(value=word, save=[*(previous or []), word])

        return flow

    policy = CheckpointPolicy(messages=("messages",), channels={"__previous__": REDACT} if allowed else {})
    saver = rows.open(policy)
    for word, kept in (("one", saver), ("two", saver), ("three", rows.open(policy))):
        assert await rows.talk(make, kept).invoke(word, **durability) == word
    assert seen == ([None, ["one"], ["one", "two"]] if allowed else [None] * 3)


async def test_joins_deferred_nodes_and_commands_run_once_a_turn(rows, shop, durability):
    def note(name):
        return lambda _: shop.runs.append(name)

    builder = StateGraph(InputState)
    for name in ("left", "right", "both"):
        builder.add_node(name, note(name))
    builder.add_node("late", note("late"), defer=True)
    builder.add_node("jump", lambda _: Command(goto="ask"), destinations=("ask",))
    builder.add_node("ask", lambda _: shop.runs.append(interrupt("raw")))
    builder.add_node("thanks", thanks)
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "both")
    builder.add_edge("both", "late")
    builder.add_edge("late", "jump")
    builder.add_edge("ask", "thanks")
    builder.add_edge("thanks", END)
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    for _ in range(2):
        shop.runs.clear()
        await talk.invoke(shop.say("hello there"), **durability)
        await talk.invoke(Command(resume="raw answer"), **durability)
        assert sorted(shop.runs) == ["both", "late", "left", "raw answer", "right"]
    assert await talk.texts() == ["h:hello there", "a:thanks"] * 2


async def test_a_join_that_one_side_failed_waits_for_it(rows, shop, durability):
    def left(_):
        shop.runs.append("left")

    def right(_):
        if shop.broken:
            raise LookupError
        shop.runs.append("right")

    builder = StateGraph(InputState)
    builder.add_node("left", left)
    builder.add_node("right", right)
    builder.add_node("both", lambda _: shop.runs.append("both"))
    builder.add_node("thanks", thanks)
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "both")
    builder.add_edge("both", "thanks")
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    with pytest.raises(LookupError):
        await talk.invoke(shop.say("hello there"), **durability)
    shop.broken = False
    await talk.invoke(None, **durability)
    assert shop.runs[-1] == "both"
    assert shop.runs.count("right") == shop.runs.count("both") == 1
    await talk.invoke(shop.say("and now"), **durability)
    assert shop.runs.count("both") == 2
    assert await talk.texts() == ["h:hello there", "a:thanks", "h:and now", "a:thanks"]


async def test_a_command_goes_and_updates(rows, shop, durability):
    builder = StateGraph(InputState)
    builder.add_node(
        "route",
        lambda state: Command(
            goto=[Send("part", {"number": number}) for number in range(3)],
            update={"messages": [AIMessage("raw plan", tool_calls=[{"name": "part", "args": {}, "id": "call"}])]},
        ),
        destinations=("part",),
    )
    builder.add_node("part", lambda packet: shop.runs.append(packet["number"]))
    builder.add_node("thanks", thanks)
    builder.add_edge("part", "thanks")
    builder.add_edge(START, "route")
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    for _ in range(2):
        await talk.invoke(shop.say("hello there"), **durability)
    assert sorted(shop.runs) == [0, 0, 1, 1, 2, 2]
    assert await talk.texts() == ["h:hello there", "a:thanks"] * 2


async def test_a_command_as_input_starts_at_a_node(rows, stock, shop):
    for talk in (rows.talk(shop.loop), stock.talk(shop.loop)):
        await talk.invoke(shop.say("first one"))
        await talk.invoke(Command(goto="model", update={"messages": [("user", "second one")]}))
        assert await talk.texts() == ["h:first one", "a:answer to", "h:second one", "a:answer to"]
    assert shop.model.refused == 0


async def test_a_cached_node_is_not_run_again(rows, shop, durability):
    builder = StateGraph(InputState)
    builder.add_node("costly", lambda _: shop.runs.append("costly"), cache_policy=CachePolicy(key_func=lambda _: "key"))
    builder.add_node("thanks", thanks)
    builder.add_edge(START, "costly")
    builder.add_edge("costly", "thanks")
    cache = InMemoryCache()
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver, cache=cache))
    for _ in range(2):
        await talk.invoke(shop.say("hello there"), **durability)
    assert shop.runs == ["costly"]
    assert await talk.texts() == ["h:hello there", "a:thanks"] * 2


@pytest.mark.slow
async def test_a_retry_policy_tries_again_within_the_turn(rows, shop, durability):
    def flaky(_):
        shop.attempts.append("flaky")
        if len(shop.attempts) < 3:
            raise ConnectionError

    builder = StateGraph(InputState)
    policy = RetryPolicy(max_attempts=3, initial_interval=0.001, retry_on=ConnectionError)
    builder.add_node("flaky", flaky, retry_policy=policy)
    builder.add_node("thanks", thanks)
    builder.add_edge(START, "flaky")
    builder.add_edge("flaky", "thanks")
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    await talk.invoke(shop.say("hello there"), **durability)
    assert len(shop.attempts) == 3
    assert await talk.texts() == ["h:hello there", "a:thanks"]


def handled(shop, handler):
    def fail(_):
        shop.attempts.append("fail")
        raise LookupError("raw error")

    builder = StateGraph(InputState)
    builder.add_node("fail", fail, error_handler=handler)
    builder.add_node("thanks", thanks)
    builder.add_edge(START, "fail")
    builder.add_edge("fail", "thanks")
    return lambda saver: builder.compile(checkpointer=saver)


async def test_an_error_handler_takes_over(rows, shop, durability):
    def handle(_, error: NodeError):
        shop.runs.append(f"{error.node} {error.error}")
        return Command(goto="thanks")

    talk = rows.talk(handled(shop, handle))
    await talk.invoke(shop.say("hello there"), **durability)
    assert shop.runs == ["fail raw error"]
    assert await talk.texts() == ["h:hello there", "a:thanks"]


async def test_an_error_handler_that_asks_resumes_without_the_node_that_failed(rows, shop, durability):
    def handle(_, error: NodeError):
        shop.runs.append(interrupt("raw question"))
        return Command(goto="thanks")

    talk = rows.talk(handled(shop, handle))
    paused = await talk.invoke(shop.say("hello there"), **durability)
    assert "__interrupt__" in paused
    await talk.invoke(Command(resume="yes"), **durability)
    assert (shop.attempts, shop.runs) == (["fail"], ["yes"])
    assert await talk.texts() == ["h:hello there", "a:thanks"]


async def test_state_beside_the_messages_lives_for_the_turn_unless_the_policy_lets_it(rows, shop, durability):
    builder = StateGraph(Logged)
    builder.add_node("first", lambda _: {"log": ["first"]})
    builder.add_node("second", lambda state: shop.runs.append(list(state["log"])))
    builder.add_node("thanks", thanks)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", "thanks")
    for policy in (None, CheckpointPolicy(channels={"log": REDACT})):
        talk = rows.talk(lambda saver: builder.compile(checkpointer=saver), rows.open(policy))
        talk.config = {"configurable": {"thread_id": f"policy {policy is not None}"}}
        for _ in range(2):
            await talk.invoke(shop.say("hello there"), **durability)
    assert shop.runs == [["first"], ["first"], ["first"], ["first", "first"]]


def extend(value, writes):
    return [*(value or []), *(item for write in writes for item in write)]


LOG = DeltaChannel(extend)


class Delta(InputState):
    log: Annotated[list, LOG]


@pytest.mark.fast_cases(2)
async def test_a_delta_channel_has_every_write(rows, durability):
    builder = StateGraph(Delta)
    builder.add_node("ask", lambda _: {"log": [interrupt("raw question")]})
    builder.add_node("note", lambda _: {"log": ["noted"]})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "note")
    policy = CheckpointPolicy(channels={"log": KEEP}, deltas={"log": LOG})
    for number in range(5):  # with durability "exit" it was a matter of luck
        talk = rows.talk(lambda saver: builder.compile(checkpointer=saver), rows.open(policy))
        talk.config = {"configurable": {"thread_id": f"thread {number}"}}
        await talk.invoke({"messages": [], "log": ["given"]}, **durability)
        assert (await talk.state()).values["log"] == ["given"]
        await talk.invoke(Command(resume="yes"), **durability)
        assert (await talk.state()).values["log"] == ["given", "yes", "noted"]


class Texts(TypedDict):
    messages: Annotated[list, operator.add]


@pytest.mark.parametrize("item", ["raw text", {"role": "user", "content": "raw text"}], ids=["text", "dict"])
async def test_a_channel_of_that_name_without_messages_lives_for_the_turn(rows, durability, item):
    builder = StateGraph(Texts)
    builder.add_node("first", lambda _: {"messages": [item]})
    builder.add_node("second", lambda state: {"messages": [len(state["messages"])]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    talk = rows.talk(lambda saver: builder.compile(checkpointer=saver))
    assert (await talk.invoke({"messages": [item]}, **durability))["messages"] == [item, item, 2]
    assert (await talk.state()).values == {"messages": []}


async def test_a_graph_built_of_pregel_itself_is_refused_before_anything_of_its_turn_is_stored(rows, durability):
    """Its nodes are started by ordinary channels, so that a turn that goes on looks like one that is over."""
    nodes = {
        "plan": NodeBuilder()
        .subscribe_only("asked")
        .do(lambda _: [AIMessage("raw plan")])
        .write_to("talk", "messages"),
        "act": NodeBuilder().subscribe_only("talk").do(lambda _: [AIMessage("raw end")]).write_to("messages"),
    }
    channels = {
        "asked": LastValue(str),
        "talk": LastValue(list),
        "messages": BinaryOperatorAggregate(list, add_messages),
    }

    def make(saver):
        return Pregel(
            nodes=nodes, channels=channels, input_channels="asked", output_channels="messages", checkpointer=saver
        )

    with pytest.raises(CheckpointError, match="StateGraph"):
        await rows.talk(make).invoke("hello", **durability)
    assert not (await rows.talk(make).state()).values.get("messages")


async def test_a_branch_from_before_a_delta_channels_first_value(rows, durability):
    def make(node):
        builder = StateGraph(Delta)
        builder.add_node("first", node)
        builder.add_node("thanks", thanks)
        builder.add_edge(START, "first")
        builder.add_edge("first", "thanks")
        return lambda saver: builder.compile(checkpointer=saver)

    saver = rows.open(CheckpointPolicy(channels={"log": KEEP}, deltas={"log": LOG}))
    talk = rows.talk(make(lambda _: {"log": ["noted"]}), saver)
    await talk.invoke({"messages": [("user", "hello there")], "log": ["given"]}, **durability)
    beginning = (await talk.history())[-1].config
    other = rows.talk(make(lambda _: {}), saver)
    await other.invoke({"messages": [("user", "something else")]}, beginning, **durability)
    state = (await other.state()).values
    assert (state["log"], state["messages"][-1].text) == ([], "thanks")
