"""What a tool caches is found again by its thread, and in no checkpoint."""

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.nodes.tools.cache import get_tool_cache, put_tool_cache
from discreet.state.context import Context
from discreet.testing import ScriptedChatModel
from discreet.transient import TransientState, default_transient_state

PLANTED = "planted-7c1e-of-the-tool"


@pytest.fixture
def seen():
    return []


@pytest.fixture
def lookup(seen):
    @tool
    def lookup() -> str:
        """Look something up."""
        seen.append(get_tool_cache("answer"))
        put_tool_cache("answer", {"rows": [PLANTED]})
        return "done"

    return lookup


def everything(saver: InMemorySaver) -> str:
    return repr([dict(saver.storage), dict(saver.blobs), dict(saver.writes)])


async def ask(graph, thread):
    config = {"configurable": {"thread_id": thread}}
    return await graph.ainvoke({"messages": [("user", "Look it up, please")]}, config, context=Context(user_id="ann"))


def graph_with(lookup, saver):
    call = {"name": "lookup", "args": {}, "id": "call_1"}
    turn = [AIMessage("", tool_calls=[call]), AIMessage("It is done.")]
    return build_graph(chat_model=ScriptedChatModel(responses=turn * 3), tools=[lookup]).compile(checkpointer=saver)


@pytest.mark.parametrize("wrap", [lambda saver: saver, RedactingSaver], ids=["InMemorySaver", "RedactingSaver"])
async def test_a_cached_value_is_in_no_checkpoint(lookup, seen, wrap):
    default_transient_state().forget("one")
    stored = InMemorySaver()
    graph = graph_with(lookup, wrap(stored))
    await ask(graph, "one")
    await ask(graph, "one")
    await ask(graph, "two")
    assert seen == [None, {"rows": [PLANTED]}, None]
    assert "Look it up, please" in everything(stored)
    assert PLANTED not in everything(stored)
    assert PLANTED not in repr(await graph.aget_state({"configurable": {"thread_id": "one"}}))
    default_transient_state().forget("two")


def test_a_blocking_tool_in_a_blocking_graph_finds_its_thread(lookup, seen):
    default_transient_state().forget("sync")
    graph = graph_with(lookup, InMemorySaver())
    for _ in range(2):
        graph.invoke({"messages": [("user", "Look it up")]}, {"configurable": {"thread_id": "sync"}})
    assert seen == [None, {"rows": [PLANTED]}]
    default_transient_state().forget("sync")


def test_without_a_thread_nothing_is_kept():
    state = TransientState()
    assert not put_tool_cache("answer", PLANTED, state=state)
    assert get_tool_cache("answer", "nothing", state=state) == "nothing"
    assert len(state) == 0


async def test_it_lives_for_a_quarter_of_an_hour_unless_told_otherwise():
    now = [0.0]
    state = TransientState(clock=lambda: now[0])
    found = []

    @tool
    def keeps(seconds: float | None = None) -> str:
        """Keep."""
        found.append(get_tool_cache("answer", state=state))
        if seconds is None:
            put_tool_cache("answer", 1, state=state)
        else:
            put_tool_cache("answer", 2, ttl_seconds=seconds, any_ttl=True, state=state)
        return "done"

    def call(**arguments):
        return AIMessage("", tool_calls=[{"name": "keeps", "args": arguments, "id": "c"}])

    answers = [call(), AIMessage("."), call(seconds=60), AIMessage("."), call(), AIMessage(".")]
    graph = build_graph(chat_model=ScriptedChatModel(responses=answers), tools=[keeps]).compile(InMemorySaver())
    await ask(graph, "t")
    now[0] += 899
    await ask(graph, "t")
    now[0] += 61
    await ask(graph, "t")
    assert found == [None, 1, None]
