"""Call argument > Context > database > environment > default, for every setting that more than one of them says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph

from discreet.errors import ConfigurationError
from discreet.graph import build_graph
from discreet.nodes.prompting import Prompting
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.nodes.run import describe_run
from discreet.providers.environment_values import environment_values
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.state.conversation import ConversationState
from discreet.testing import InMemoryMemories, InMemorySettingsStore, ScriptedChatModel

LIMIT = ("limit", "retrieve_limit", "memory_retrieve_limit", "retrieve_limit")
THRESHOLD = ("threshold", "retrieve_threshold", "memory_retrieve_threshold", "retrieve_threshold")
"""What a setting is called as an argument, in the context, in the database and in the environment."""

TABLE = [
    # names, (argument, context, database, environment), what holds
    (LIMIT, (None, None, None, None), 5),
    (LIMIT, (None, None, None, 9), 9),
    (LIMIT, (None, None, 8, 9), 8),
    (LIMIT, (None, 7, 8, 9), 7),
    (LIMIT, (6, 7, 8, 9), 6),
    (LIMIT, (6, None, None, None), 6),
    (THRESHOLD, (None, None, None, None), 0.6),
    (THRESHOLD, (None, None, None, 0.5), 0.5),
    (THRESHOLD, (None, None, 0.4, 0.5), 0.4),
    (THRESHOLD, (None, 0.0, 0.4, 0.5), 0.0),
    (THRESHOLD, (0.0, 0.3, 0.4, 0.5), 0.0),
    (THRESHOLD, (None, None, 0.0, 0.5), 0.0),
]


class Recording(InMemoryMemories):
    """Remembers how it was searched."""

    def __init__(self):
        super().__init__()
        self.asked = {}

    async def search(self, user_id, query, **options):
        self.asked = options
        return []


def given(name, value):
    return {} if value is None else {name: value}


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize(("names", "said", "holds"), TABLE)
async def test_the_first_that_says_something_holds(names, said, holds, monkeypatch):
    argument, context, database, environment = said
    as_argument, in_context, in_database, in_environment = names
    if environment is not None:
        monkeypatch.setenv(f"DISCREET_{in_environment}".upper(), str(environment))
    settings = Settings(_env_file=None)
    store = InMemorySettingsStore(environment_values(settings))
    await store.change(given(in_database, database), by="ann")
    run = Context(user_id="ann", **given(in_context, context))
    asked = {"messages": [HumanMessage("What did I tell you about my parrots?")]}

    memories = Recording()
    graph = StateGraph(ConversationState, context_schema=Context)
    node = make_retrieve_memories(memories=memories, memory_settings=store, **given(as_argument, argument))
    graph.add_node("retrieve_memories", node)
    graph.add_edge(START, "retrieve_memories")
    await graph.compile().ainvoke(asked, context=run)
    assert memories.asked[as_argument] == holds

    if argument is None:
        template = build_graph(
            chat_model=ScriptedChatModel(responses=[AIMessage("Two.")]),
            memories=memories,
            memory_settings=store,
            settings=settings,
        ).compile()
        memories.asked = {}
        await template.ainvoke(asked, context=run)
        assert memories.asked[as_argument] == holds


async def test_a_change_holds_from_the_next_turn_on():
    memories, store = Recording(), InMemorySettingsStore()
    graph = build_graph(chat_model="offline", memories=memories, memory_settings=store, memory_tools=False).compile()
    for limit in (5, 2, 11):
        await store.change({"memory_retrieve_limit": limit}, by="ann")
        await graph.ainvoke(
            {"messages": [HumanMessage("What did I tell you about my parrots?")]}, context=Context(user_id="ann")
        )
        assert memories.asked["limit"] == limit


async def window_used(prompting, monkeypatch, *, context=None, profile=None):
    """Return the window that a prompt is made for."""
    seen = []
    assemble = Prompting.prompt.__globals__["assemble"]
    monkeypatch.setitem(
        Prompting.prompt.__globals__, "assemble", lambda **given: seen.append(given["window"]) or assemble(**given)
    )
    model = ScriptedChatModel(responses=[], profile=profile)
    run = replace(describe_run(), context=Context(context_window_size=context))
    await prompting.prompt([HumanMessage("Hi")], [], run=run, model=model)
    return seen[0]


@pytest.mark.parametrize(
    ("said", "window"),
    [
        ((None, None, None, None, None), 32_000),
        ((None, None, None, None, {"max_input_tokens": 128_000}), 128_000),
        ((None, None, None, 30_000, {"max_input_tokens": 128_000}), 30_000),
        ((None, None, 20_000, 30_000, {"max_input_tokens": 128_000}), 20_000),
        ((None, 16_000, 20_000, 30_000, {"max_input_tokens": 128_000}), 16_000),
        ((4_096, 16_000, 20_000, 30_000, {"max_input_tokens": 128_000}), 4_096),
    ],
)
async def test_the_window_is_that_of_the_argument_the_run_the_database_the_environment_or_the_model(
    said, window, monkeypatch
):
    argument, context, database, environment, profile = said
    store = InMemorySettingsStore(environment_values(Settings(context_window_size=environment)))
    prompting = Prompting(context_window_size=argument, memory_settings=store)
    await store.change(given("context_window_size", database), by="ann")
    assert await window_used(prompting, monkeypatch, context=context, profile=profile) == window


def test_the_environment_says_the_window(monkeypatch):
    monkeypatch.setenv("DISCREET_CONTEXT_WINDOW_SIZE", "12000")
    assert environment_values(load_settings()).context_window_size == 12_000
    monkeypatch.setenv("DISCREET_CONTEXT_WINDOW_SIZE", "12")
    with pytest.raises(ConfigurationError, match="DISCREET_CONTEXT_WINDOW_SIZE"):
        load_settings()
