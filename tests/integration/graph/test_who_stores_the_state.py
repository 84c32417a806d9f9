"""Whether the state holds what was said: by who stores it, as far as a run can tell."""

from __future__ import annotations

import sys

import pytest
from kit.places import files
from kit.search import Words, search
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.cache.sqlite import SqliteCache
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import CachePolicy

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.redaction import InMemoryTurnVault
from discreet.redaction.placeholders import TAGGED
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.state.request_ref import REQUEST_REF
from discreet.testing import InMemoryMemories, ScriptedChatModel

EMAIL = "ann.nguyen@example.com"
THREAD = {"configurable": {"thread_id": "1", "user_id": "ann"}}
SAID = {"messages": [HumanMessage("Where do I write to?")]}
"""A stock checkpointer keeps the input as it came, so what is planted comes from the model."""


class Reads(AgentMiddleware):
    """Sees the state behind the model, as whoever stores it does."""

    def __init__(self) -> None:
        self.seen = ""

    def after_model(self, state, runtime):
        self.seen += "".join(message.text for message in state["messages"])


@pytest.fixture
def reads():
    return Reads()


@pytest.fixture
def agent(reads):
    """Return what makes an agent over a checkpointer; its state says the address, or a placeholder."""

    def make(checkpointer=None, *, mask="auto"):
        memory = MemoryMiddleware(vault=InMemoryTurnVault(), mask=mask, model="offline")
        model = ScriptedChatModel(responses=[AIMessage(f"Write to {EMAIL}.")])
        return create_agent(model, middleware=[memory, reads], checkpointer=checkpointer)

    return make


@pytest.fixture
def is_masked(reads):
    """Return whether the state of the run that is over was masked."""

    def told():
        assert "Where do I write to?" in reads.seen
        return EMAIL not in reads.seen

    return told


def ours(**options):
    return RedactingSaver(InMemorySaver(), vault=InMemoryTurnVault(), **options)


def stored(saver):
    """Return all rows of a saver, as text."""
    rows = repr(list((saver.inner if isinstance(saver, RedactingSaver) else saver).list(None)))
    assert "Where do I write to?" in rows
    return rows


class Wrapper(BaseCheckpointSaver):
    """A server's adapter around a saver: it looks like it, and may store what passes elsewhere."""

    def __init__(self, saver) -> None:
        self.saver = saver
        super().__init__()

    def __getattribute__(self, name):
        if name in ("saver", "__class__", "__dict__"):
            return super().__getattribute__(name)
        return getattr(self.saver, name)


class Subclass(RedactingSaver):
    """May store what it is given."""


SAVERS = {
    "none": (lambda: None, False),
    "ours": (ours, False),
    "stock": (InMemorySaver, True),
    "a wrapper of ours": (lambda: Wrapper(ours()), True),
    "a subclass of ours": (lambda: Subclass(InMemorySaver()), True),
    "ours that restores nothing": (lambda: ours(restore=False), True),
}


@pytest.mark.parametrize("mask", ["auto", True, False])
@pytest.mark.parametrize("kind", SAVERS)
def test_it_is_masked_where_anybody_else_may_store_it(agent, is_masked, kind, mask):
    saver, masked = SAVERS[kind]
    agent(saver(), mask=mask).invoke(SAID, THREAD)
    assert is_masked() is (masked if mask == "auto" else mask)


@pytest.mark.parametrize("server", ["langgraph_api", "aegra_api", REQUEST_REF, "langgraph_auth_user_id"])
@pytest.mark.parametrize("kind", ["none", "ours"])
def test_it_is_masked_on_a_server_whatever_its_checkpointer_is(agent, is_masked, monkeypatch, kind, server):
    config = THREAD
    if server.endswith("_api"):
        monkeypatch.setitem(sys.modules, server, sys)
    else:
        config = {"configurable": {**THREAD["configurable"], server: "ref"}}
    agent(SAVERS[kind][0]()).invoke(SAID, config)
    assert is_masked()


def as_node(agent, saver):
    builder = StateGraph(MessagesState).add_node("agent", agent()).add_edge(START, "agent")
    return builder.compile(checkpointer=saver)


def with_a_thread_of_its_own_in_it(agent, saver):
    builder = StateGraph(MessagesState).add_node("agent", agent(True)).add_edge(START, "agent")
    return builder.compile(checkpointer=saver)


def called_in_a_node(agent, saver):
    child = agent()

    def call(state):
        return child.invoke(state)

    return StateGraph(MessagesState).add_node(call).add_edge(START, "call").compile(checkpointer=saver)


def in_an_entrypoint(agent, saver):
    child = agent()

    @entrypoint(checkpointer=saver)
    def talk(given, *, previous=None):
        return entrypoint.final(value=child.invoke(given), save=given["messages"])

    return talk


@pytest.mark.parametrize("saver", [ours, InMemorySaver])
@pytest.mark.parametrize("inside", [as_node, with_a_thread_of_its_own_in_it, called_in_a_node, in_an_entrypoint])
def test_a_graph_within_another_has_the_state_that_its_parents_saver_asks_for(agent, is_masked, inside, saver):
    saver = saver()
    inside(agent, saver).invoke(SAID, THREAD)
    assert is_masked() is not isinstance(saver, RedactingSaver)
    assert EMAIL not in stored(saver)


@pytest.mark.parametrize("mask", ["auto", True])
def test_what_a_thread_of_ours_gives_to_a_parent_of_somebody_elses_is_the_parents_unless_all_is_masked(agent, mask):
    """The child can't know who stores what it returns: THREAT_MODEL.md names it."""
    child, parents = agent(ours(), mask=mask), InMemorySaver()
    config = {"configurable": {"thread_id": "of the child", "user_id": "ann"}}
    builder = StateGraph(MessagesState).add_node("call", lambda state: child.invoke(state, config))
    builder.add_edge(START, "call").compile(checkpointer=parents).invoke(SAID, THREAD)
    assert (EMAIL in stored(parents)) is (mask == "auto")


@pytest.mark.parametrize("mask", ["auto", True])
def test_a_cache_of_nodes_has_what_they_write_unless_all_is_masked(agent, tmp_path, mask):
    """It stores beside the checkpointer what a node returns: THREAT_MODEL.md names it."""
    saver, cache = ours(), SqliteCache(path=str(tmp_path / "cache.db"))
    builder = StateGraph(MessagesState).add_node("agent", agent(mask=mask), cache_policy=CachePolicy())
    builder.add_edge(START, "agent").compile(checkpointer=saver, cache=cache).invoke(SAID, THREAD)
    found = search(files(tmp_path), Words(value=EMAIL, answer="Write to")).leaks
    assert "answer" in found
    assert ("value" in found) is (mask == "auto")
    assert EMAIL not in stored(saver)


async def test_a_tag_in_a_memory_brings_no_thread_a_value():
    """Nor does it where the state holds what was said."""
    memories, saver = InMemoryMemories(), ours()
    model = ScriptedChatModel(responses=[AIMessage("Noted.")] * 2)
    graph = build_graph(chat_model=model, memories=memories).compile(checkpointer=saver)
    for thread, said in (("1", f"My address is {EMAIL}"), ("2", "Which parrots do I keep?")):
        config = {"configurable": {"thread_id": thread}}
        await graph.ainvoke({"messages": [HumanMessage(said)]}, config, context=Context(user_id="ann"))
        tag = TAGGED.search(repr(list(saver.inner.list(None))))[0]
        await memories.save("ann", [MemoryRecord(text=f"Ann keeps parrots, see {tag}")])
    prompt = "".join(message.text for message in model.prompts[-1])
    assert "Ann keeps parrots" in prompt
    assert EMAIL not in prompt
