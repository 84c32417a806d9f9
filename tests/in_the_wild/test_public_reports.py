"""Programs of public reports about LangGraph, its clients and its servers, over the stock savers and ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from testkit.snippets import snippets

from discreet.checkpoint import CheckpointPolicy, RedactingSaver
from discreet.redaction.configured import default_redactor
from discreet.testing import InMemoryKeys, ScriptedChatModel

pytestmark = pytest.mark.slow

THREAD: dict[str, Any] = {"configurable": {"thread_id": "thread"}}
OURS = ["in memory", "in PostgreSQL"]
PLACES = ["stock in memory", "stock in PostgreSQL", *OURS]
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


class Place:
    """Rows in memory or in PostgreSQL, and a saver over them for each process."""

    def __init__(self, kind: str, dsn: str) -> None:
        self.is_stock = kind.startswith("stock")
        self.dsn = dsn if kind.endswith("PostgreSQL") else None
        self._rows = InMemorySaver()

    @asynccontextmanager
    async def process(self, **options: Any) -> AsyncIterator[BaseCheckpointSaver[str]]:
        """Open the saver of a process that has just started; `options` are for ours."""
        if self.dsn is None:
            yield self._rows if self.is_stock else RedactingSaver(self._rows, **options)
            return
        made = AsyncPostgresSaver if self.is_stock else RedactingSaver
        async with made.from_conn_string(self.dsn, **({} if self.is_stock else options)) as saver:
            await saver.setup()
            yield saver


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, empty_database: str) -> Place:
    return Place(request.param, empty_database)


def only(*kinds: str) -> pytest.MarkDecorator:
    """Play a test in these places alone; its docstring says what the others do."""
    return pytest.mark.parametrize("place", kinds, indirect=True)


def said(text: str, id_: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=id_)]}


def calls(name: str, id_: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": id_}])


def conversation(messages: Iterable[BaseMessage]) -> list[str]:
    """Return what people and the model said to each other."""
    return [message.text for message in messages if message.type in {"human", "ai"} and message.text]


async def stored(graph: Any, config: dict[str, Any] = THREAD) -> list[str]:
    return conversation((await graph.aget_state(config)).values.get("messages", []))


async def before(graph: Any, id_: str) -> dict[str, Any]:
    """Return the config of the checkpoint from which the message `id_` came about, as clients look it up."""
    history = [state async for state in graph.aget_state_history(THREAD)]
    first = next(s for s in reversed(history) if id_ in {m.id for m in s.values.get("messages", [])})
    return dict(first.parent_config)


def script(*texts: str | AIMessage) -> ScriptedChatModel:
    return ScriptedChatModel(responses=[AIMessage(text) if isinstance(text, str) else text for text in texts])


@pytest.fixture
def paid() -> Iterator[list[int]]:
    """Return what the tool `pay` of an agent has paid so far."""
    yield _PAID
    _PAID.clear()


_PAID: list[int] = []


@tool
def pay(amount: int) -> str:
    """Pay."""
    _PAID.append(amount)
    return "Paid."


def cashier(saver: Any, model: Any) -> Any:
    """Return an agent that asks before it pays."""
    asks = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    return create_agent(model, [pay], middleware=[asks], checkpointer=saver)


@only(*OURS)
async def test_a_fork_from_before_a_message_does_not_bring_the_message_along(place, run):
    """https://github.com/langchain-ai/langgraph/issues/7593: an agent with `checkpointer=True` as a node.

    Stock: the agent has a thread of its own, and the branch gets what was said on the other one.
    """
    model = script("one", "two", "other")

    def build(saver: Any) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("agent", create_agent(model, [], checkpointer=True))
        builder.add_edge(START, "agent")
        return builder.compile(checkpointer=saver)

    async with place.process() as saver:
        await run(build(saver), said("first", "1"), THREAD)
        await run(build(saver), said("second", "2"), THREAD)
    async with place.process() as saver:
        graph = build(saver)
        await run(graph, said("instead", "3"), await before(graph, "2"))
        assert await stored(graph) == ["first", "one", "instead", "other"]


@only(*OURS)
async def test_what_comes_after_a_deletion_does_not_bring_the_thread_back(place):
    """https://github.com/langchain-ai/langgraph/issues/7206. Stock: the late `put` makes the thread anew."""
    async with place.process() as saver:
        graph = create_agent(script("one", "anew"), [], checkpointer=saver)
        await graph.ainvoke(said("first", "1"), THREAD)
        late = await saver.aget_tuple(THREAD)
        await saver.adelete_thread("thread")
        checkpoint = {**late.checkpoint, "id": str(uuid6(clock_seq=9))}
        config = await saver.aput(late.config, checkpoint, {"source": "loop", "step": 9, "parents": {}}, {})
        await saver.aput_writes(config, [("messages", [AIMessage("late")])], "task")
        assert await saver.aget_tuple(THREAD) is None
        await graph.ainvoke(said("second", "2"), THREAD)
        assert await stored(graph) == ["second", "anew"]


async def test_a_run_that_is_cancelled_late_does_not_replace_a_newer_one(place):
    """https://github.com/langchain-ai/langgraph/issues/8810: its last checkpoint comes when the newer run is over."""
    began = asyncio.Event()

    def build(saver: Any, *, slow: bool = False) -> Any:
        async def answer(state: MessagesState) -> dict[str, Any]:
            if slow:
                began.set()
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
                await asyncio.sleep(0.2)  # cleans up
                raise asyncio.CancelledError
            return {"messages": [AIMessage("answer")]}

        builder = StateGraph(MessagesState)
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        return builder.compile(checkpointer=saver)

    async with place.process() as saver, place.process() as other:
        old = asyncio.create_task(build(saver, slow=True).ainvoke(said("old", "1"), THREAD, durability="exit"))
        await began.wait()
        old.cancel()
        await build(other).ainvoke(said("new", "2"), THREAD, durability="exit")
        await asyncio.gather(old, return_exceptions=True)
        assert await stored(build(other)) == ["new", "answer"]


def deep(saver: Any, model: Any, expert: Any, act: Any, **waits: Any) -> Any:
    """Return an agent of deepagents that has an expert with the tool `act`."""
    from deepagents import create_deep_agent

    described = {"name": "expert", "description": "Knows.", "system_prompt": "You know."}
    subagent = {**described, "model": expert, "tools": [act], **waits}
    return create_deep_agent(model, [], subagents=[subagent], checkpointer=saver)


def deltas() -> CheckpointPolicy:
    channels = deep(None, script(), script(), pay).channels
    return CheckpointPolicy(deltas={name: each for name, each in channels.items() if isinstance(each, DeltaChannel)})


ASKS_EXPERT = calls("task", "t1", description="do it", subagent_type="expert")


async def test_a_sub_agent_that_is_cut_off_leaves_the_thread_as_it_was(place, run):
    """https://github.com/langchain-ai/deepagents/issues/2781: the thread shows the sub-agent's messages afterwards."""
    acts = asyncio.Event()

    @tool
    async def act(text: str) -> str:
        """Act."""
        acts.set()
        await asyncio.sleep(60)
        return text

    model, expert = script("hello", ASKS_EXPERT, "fine"), script(calls("act", "a1", text="inner"))
    async with place.process(policy=deltas()) as saver:
        graph = deep(saver, model, expert, act)
        await run(graph, said("hi", "1"), THREAD)
        cut = asyncio.create_task(run(graph, said("ask", "2"), THREAD))
        await acts.wait()
        cut.cancel()
        await asyncio.gather(cut, return_exceptions=True)
    async with place.process(policy=deltas()) as saver:
        graph = deep(saver, model, expert, act)
        assert await stored(graph) == ["hi", "hello", "ask"]
        await run(graph, said("more", "3"), THREAD)
        assert await stored(graph) == ["hi", "hello", "ask", "more", "fine"]


DECISIONS: dict[str, dict[str, Any]] = {
    "approve": {"type": "approve"},
    "edit": {"type": "edit", "edited_action": {"name": "act", "args": {"text": "edited"}}},
    "reject": {"type": "reject", "message": "No."},
}


@only("stock in PostgreSQL", "in PostgreSQL")
@pytest.mark.parametrize("decision", DECISIONS)
async def test_each_call_of_a_sub_agent_is_answered_in_another_process(place, run, decision):
    """https://github.com/langchain-ai/deepagentsjs/issues/725: a sub-agent asks twice; nothing is done anew."""
    keys, done = InMemoryKeys(), []

    @tool
    def act(text: str) -> str:
        """Act."""
        done.append(text)
        return text

    model = script(ASKS_EXPERT, "done")
    expert = script(calls("act", "a1", text="first"), calls("act", "a2", text="second"), "inner")
    given: list[Any] = [said("ask", "1"), *[Command(resume={"decisions": [DECISIONS[decision]]})] * 2]
    for each in given:
        async with place.process(policy=deltas(), keys=keys) as saver:
            graph = deep(saver, model, expert, act, interrupt_on={"act": True})
            out = await run(graph, each, THREAD)
    assert "__interrupt__" not in out
    assert done == {"approve": ["first", "second"], "edit": ["edited", "edited"], "reject": []}[decision]
    assert (len(model.prompts), len(expert.prompts)) == (2, 3), "a model was asked again"
    assert conversation(out["messages"]) == ["ask", "done"]


@only(*OURS)
async def test_a_copied_thread_has_the_history_of_its_source_and_goes_its_own_way(place):
    """https://github.com/aegra/aegra/pull/349: a copy keeps ids and parents. Stock savers copy no threads."""
    other = {"configurable": {"thread_id": "copy"}}
    async with place.process() as saver:
        graph = create_agent(script("one", "two", "of copy", "of source"), [], checkpointer=saver)
        await graph.ainvoke(said("first", "1"), THREAD)
        await graph.ainvoke(said("second", "2"), THREAD)
        await saver.acopy_thread("thread", "copy")

        async def tree(config: dict[str, Any]) -> list[Any]:
            of = [(s.config, s.parent_config or {"configurable": {}}) async for s in graph.aget_state_history(config)]
            return [[each["configurable"].get("checkpoint_id") for each in pair] for pair in of]

        assert await tree(other) == await tree(THREAD)
        await graph.ainvoke(said("on", "3"), other)
        await saver.adelete_thread("copy")
        await graph.ainvoke(said("on", "3"), THREAD)
        assert await stored(graph) == ["first", "one", "second", "two", "on", "of source"]


@pytest.mark.parametrize("process", ["the same process", "another process"])
async def test_a_message_is_edited_by_an_update_of_the_state_before_it(place, run, process):
    """https://github.com/langchain-ai/agent-chat-ui/issues/204: the update that the report proposes, then no input."""
    model = script("one", "two", "other", "fine")
    async with place.process() as first, place.process() as second:
        graph = create_agent(model, [], checkpointer=first)
        await run(graph, said("first", "1"), THREAD)
        await run(graph, said("second", "2"), THREAD)
        if process == "another process":
            graph = create_agent(model, [], checkpointer=second)
        parent = await graph.aget_state(await before(graph, "2"))
        edited = {"messages": [*parent.values["messages"], HumanMessage("edited", id="3")]}
        await run(graph, None, await graph.aupdate_state(parent.config, edited, as_node="__start__"))
        await run(graph, said("more", "4"), THREAD)
        assert await stored(graph) == ["first", "one", "edited", "other", "more", "fine"]


async def test_an_empty_turn_does_not_take_the_question_away(place, run, paid):
    """https://github.com/CopilotKit/CopilotKit/issues/1590: the client sends nothing, and then the answer."""
    async with place.process() as saver:
        graph = cashier(saver, script(calls("pay", "p1", amount=5), "done"))
        await run(graph, said("pay", "1"), THREAD)
        assert (await run(graph, None, THREAD))["__interrupt__"]
        assert len((await graph.aget_state(THREAD)).interrupts) == 1
        await run(graph, APPROVE, THREAD)
        assert paid == [5]
        assert await stored(graph) == ["pay", "done"]


@only("stock in PostgreSQL", "in PostgreSQL")
async def test_an_answer_to_the_checkpoint_that_asked_is_taken_by_another_process(place, run, paid):
    """https://github.com/langchain-ai/langgraph/issues/7361: the config names the checkpoint of the pause."""
    keys = InMemoryKeys()
    model = script(calls("pay", "p1", amount=5), "done")
    async with place.process(keys=keys) as saver:
        graph = cashier(saver, model)
        await run(graph, said("pay", "1"), THREAD)
        asked = (await graph.aget_state(THREAD)).config
    async with place.process(keys=keys) as saver:
        graph = cashier(saver, model)
        await run(graph, APPROVE, asked)
        assert paid == [5]
        assert await stored(graph) == ["pay", "done"]


@only(*OURS)
@pytest.mark.parametrize("process", ["the same process", "another process"])
async def test_an_update_at_the_end_clears_what_waits(place, run, paid, process):
    """https://github.com/EvoScientist/EvoScientist/pull/290. Stock: the model gets the call without a result, for ever."""
    model = script(calls("pay", "p1", amount=5), "fine")
    async with place.process() as first, place.process() as second:
        graph = cashier(first, model)
        await run(graph, said("pay", "1"), THREAD)
        if process == "another process":
            graph = cashier(second, model)
        await graph.aupdate_state(THREAD, None, as_node=END)
        assert (await graph.aget_state(THREAD)).next == ()
        await run(graph, said("more", "2"), THREAD)
        assert await stored(graph) == ["pay", "more", "fine"]
        assert paid == []


@only("in PostgreSQL")
async def test_the_server_closes_the_connection_while_the_model_thinks(place, run):
    """https://github.com/langchain-ai/langgraph/issues/5675. Stock: the turn fails, and each one after it."""

    def close() -> None:
        with psycopg.connect(place.dsn, autocommit=True) as connection:
            others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            connection.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")

    def answer(state: MessagesState) -> dict[str, Any]:
        close()
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    async with place.process() as saver:
        for number in "12":
            await run(builder.compile(checkpointer=saver), said(f"said {number}", number), THREAD)
    async with place.process() as saver:
        assert await stored(builder.compile(checkpointer=saver)) == ["said 1", "answer 1", "said 2", "answer 3"]


@only(*OURS)
async def test_a_namespace_that_is_null_is_the_thread(place, run):
    """https://github.com/langchain-ai/langgraph/issues/2609. Stock: another thread in memory, NotNullViolation in PostgreSQL."""
    null = {"configurable": {"thread_id": "thread", "checkpoint_ns": None, "checkpoint_id": None}}
    async with place.process() as saver:
        graph = create_agent(script("one", "two"), [], checkpointer=saver)
        await run(graph, said("first", "1"), null)
        await run(graph, said("second", "2"), THREAD)
        assert await stored(graph, null) == await stored(graph) == ["first", "one", "second", "two"]


class Adapter:
    """What `ag-ui-langgraph` does with the history that a client sends: it looks for edits, and goes back to the first."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    async def run(self, history: list[HumanMessage | AIMessage]) -> list[str]:
        state = await self.graph.aget_state(THREAD)
        known = {message.id: message for message in state.values.get("messages", [])}
        (page,) = [block for block in snippets("checkpointer.md") if "as_stored" in block]
        history = page["as_stored"]("thread", history, list(known.values()))
        of_user = [message for message in history if message.id in known and message.type == "human"]
        edited = next((each for each in of_user if each.content != known[each.id].content), None)
        if edited is None:
            new = [message for message in history if message.id not in known]
            out = await self.graph.ainvoke({"messages": new}, THREAD)
        else:
            parent = await self.graph.aget_state(await before(self.graph, edited.id))
            fork = await self.graph.aupdate_state(parent.config, parent.values, as_node=(*parent.next, START)[0])
            out = await self.graph.ainvoke({"messages": [edited]}, fork)
        return conversation(out["messages"])


@pytest.mark.parametrize("process", ["the same process", "another process"])
async def test_a_client_that_keeps_its_words_edits_only_what_it_edits(place, process):
    """https://github.com/ag-ui-protocol/ag-ui/pull/1551: the adapter compares what a client resends with the state."""
    model, words = script("one", "two", "three", "other"), "write to ann@example.com"

    @asynccontextmanager
    async def adapter() -> AsyncIterator[Adapter]:
        async with place.process() as own:
            saver = shared if process == "the same process" else own
            yield Adapter(create_agent(model, [], checkpointer=saver))

    def user(number: int, text: str = words) -> HumanMessage:
        return HumanMessage(f"{text} {number}", id=f"u{number}")

    async with place.process() as shared:
        for number in (1, 2, 3):
            async with adapter() as each:
                out = await each.run([user(told) for told in range(1, number + 1)])
        assert [text for text in out if "write" not in text] == ["one", "two", "three"]
        async with adapter() as each:
            out = await each.run([user(1), user(2, "edited"), user(3)])
        assert out[1:] == ["one", "edited 2", "other"]


def test_the_words_of_a_client_are_those_of_the_state_where_the_message_is_the_same():
    (page,) = [block for block in snippets("checkpointer.md") if "as_stored" in block]
    redacted = default_redactor().for_thread("thread").redact("I am ann@example.com")
    state = [HumanMessage(redacted, id="1"), HumanMessage("other", id="2")]
    sent = [HumanMessage("I am ann@example.com", id="1"), HumanMessage("edited", id="2"), HumanMessage("new", id="3")]
    blocks = SimpleNamespace(id="1", content=[{"type": "text", "text": "I am ann@example.com"}])
    told = page["as_stored"]("thread", [*sent, blocks], state)
    assert [message.content for message in told] == [redacted, "edited", "new", blocks.content]
