"""What a graph is made of: what becomes a memory, which tools there are, and what warns."""

import warnings

import pytest

from discreet.errors import ConfigurationError
from discreet.graph import build_graph
from discreet.graph.options import Options
from discreet.graph.parts import make_parts
from discreet.nodes.sinks import SummarySink, TurnSink
from discreet.providers import chat_model
from discreet.providers.keywords import KeywordOnly
from discreet.testing import InMemoryMemories, InMemoryRollingSummaries, InMemoryShortTermStore, StubEmbeddings

WORDS, MEANING = KeywordOnly(), StubEmbeddings()


def made(**options):
    return make_parts(Options(**options), lambda: chat_model("offline"))


@pytest.mark.parametrize(
    ("remember", "embeddings", "warns"),
    [("turns", WORDS, False), ("summaries", WORDS, False), ("turns", MEANING, True), ("summaries", MEANING, False)],
)
def test_raw_turns_searched_by_meaning_warn_and_nothing_else_does(remember, embeddings, warns):
    memories = InMemoryMemories(embeddings=embeddings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build_graph(
            chat_model="offline", memories=memories, summaries=InMemoryRollingSummaries(), remember=remember
        ).compile()
    assert [w.category for w in caught] == [UserWarning] * warns
    assert all("remember='summaries'" in str(w.message) and w.filename == __file__ for w in caught)


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({}, set()),
        ({"memories": InMemoryMemories(embeddings=WORDS), "remember": "turns"}, {TurnSink}),
        ({"summaries": InMemoryRollingSummaries()}, {SummarySink}),
        ({"memories": InMemoryMemories(), "summaries": InMemoryRollingSummaries()}, {SummarySink}),
    ],
)
def test_the_default_remembers_summaries_where_there_are_any(options, kinds, monkeypatch):
    seen = []
    # a node that is made does not show its sinks
    monkeypatch.setattr("discreet.graph.parts.make_persist_filtered", lambda **given: seen.extend(given["sinks"]))
    made(**options)
    assert {type(sink) for sink in seen} == kinds


@pytest.mark.parametrize(
    "options",
    [
        {"remember": "turns"},
        {"remember": "summaries", "memories": InMemoryMemories()},
        {"memories": InMemoryMemories(), "memory_tools": ["save_memories"]},
    ],
)
def test_options_that_contradict_each_other_are_refused(options):
    with pytest.raises(ConfigurationError):
        made(**options)


def nodes(**options):
    return set(build_graph(chat_model="offline", **options).nodes)


def test_recall_and_preload_are_chosen_one_by_one():
    memories = InMemoryMemories()
    both = {"memory_gate", "retrieve_memories"}
    assert nodes(memories=memories, preload=False) & both == set()
    assert nodes(memories=memories, memory_tools=False) & {*both, "tools"} == both
    assert [tool.name for tool in made(memories=memories, memory_tools=["recall_memory"]).memory_tools] == [
        "recall_memory"
    ]
    assert [tool.name for tool in made(memories=memories, memory_tools=False).memory_tools] == []
    assert nodes(short_term=InMemoryShortTermStore()) & {*both, "tools"} == set()
