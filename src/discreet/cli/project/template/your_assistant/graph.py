"""The graph: save_input -> memory_gate -> retrieve_memories -> assistant <-> tools -> persist_filtered."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph

from discreet.nodes.assistant import make_assistant, route_after_assistant
from discreet.nodes.forgotten import ForgottenRounds
from discreet.nodes.masking import TurnMask
from discreet.nodes.memory_gate import make_memory_gate, route_after_gate
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.prompting import Prompting
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.nodes.rolling_summary import RollingSummariser, remember_summary
from discreet.nodes.save_input import make_save_input
from discreet.nodes.sinks import RoundSink, SummarySink
from discreet.nodes.tools import MemoryForget, MemoryRecall, MemorySave, MemoryUpdate, make_tools
from discreet.providers import chat_model
from discreet.providers.summaries import summary_provider_for
from discreet.state.context import Context
from discreet.storage import Storage
from discreet.storage.shared import SharedStorage
from your_assistant.prompts import SYSTEM
from your_assistant.state import State
from your_assistant.tools import TOOLS


def make_graph(
    storage: Storage | SharedStorage, model: BaseChatModel | None = None
) -> StateGraph[Any, Context, Any, Any]:
    """Return the graph over `storage`; compile it with a checkpointer. Default model: as DISCREET_CHAT_MODEL says."""
    model = model or chat_model()
    memories, short_term = storage.memories, storage.short_term

    # Where somebody else stores the state, as a server does, it has placeholders; model and tools get the real values.
    mask = TurnMask(vault=storage.vault)

    # Of long conversations the model gets a summary and the last rounds; later conversations find the summary too.
    forgotten = ForgottenRounds(memories)
    provider = summary_provider_for(model)
    summariser = RollingSummariser(
        storage.summaries,
        provider,
        on_commit=remember_summary(memories, provider),
        is_current=forgotten.may_be_told,
    )
    prompting = Prompting(
        mask=mask, summariser=summariser, forgotten=forgotten, memory_settings=storage.memory_settings
    )
    tools = [
        *TOOLS,
        MemorySave(memories=memories),
        MemoryRecall(memories=memories, memory_settings=storage.memory_settings),
        MemoryUpdate(memories=memories),
        MemoryForget(memories=memories, summaries=storage.summaries),
    ]

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("save_input", make_save_input(mask=mask, short_term=short_term, begins=storage.log))
    graph.add_node("memory_gate", make_memory_gate(mask=mask))
    graph.add_node(
        "retrieve_memories",
        make_retrieve_memories(memories=memories, mask=mask, memory_settings=storage.memory_settings),
    )
    graph.add_node("assistant", make_assistant(model, tools=tools, system_prompt=SYSTEM, prompting=prompting))
    graph.add_node("tools", make_tools(tools, mask=mask))
    graph.add_node(
        "persist_filtered",
        make_persist_filtered(
            log=storage.log, sinks=[RoundSink(short_term), SummarySink(summariser, forgotten)], mask=mask
        ),
    )

    graph.add_edge(START, "save_input")
    graph.add_edge("save_input", "memory_gate")
    graph.add_conditional_edges("memory_gate", route_after_gate, ["retrieve_memories", "assistant"])
    graph.add_edge("retrieve_memories", "assistant")
    graph.add_conditional_edges("assistant", route_after_assistant, ["tools", "persist_filtered"])
    graph.add_edge("tools", "assistant")
    graph.add_edge("persist_filtered", END)
    return graph
