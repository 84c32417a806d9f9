"""The template: save_input -> memory_gate -> retrieve_memories -> assistant <-> tools -> persist_filtered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from discreet.nodes.assistant import make_assistant, route_after_assistant
from discreet.nodes.masking import TurnMask
from discreet.nodes.memory_gate import make_memory_gate, route_after_gate
from discreet.nodes.persist_filtered import make_persist_filtered
from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.nodes.save_input import make_save_input
from discreet.nodes.tools import MemoryForget, MemoryRecall, MemorySave, make_tools
from discreet.ports import ConversationLog, MediaSummarizer, Memories, TextRedactor, TurnVault
from discreet.providers import chat_model as model_by_name
from discreet.providers.media import ChatModelSummarizer
from discreet.redaction.configured import default_redactor
from discreet.redaction.vault import default_vault
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.state.conversation import ConversationState, InputState, OutputState


def build_graph(
    *,
    chat_model: BaseChatModel | str | None = None,
    memories: Memories | None = None,
    tools: Sequence[BaseTool] = (),
    log: ConversationLog | None = None,
    summarizer: MediaSummarizer | None = None,
    redactor: TextRedactor | None = None,
    vault: TurnVault | None = None,
    system_prompt: str | None = None,
    preload: bool = True,
    memory_tools: bool = True,
    settings: Settings | None = None,
) -> StateGraph[ConversationState, Context, InputState, OutputState]:
    """Return the builder; compile it with a checkpointer (and a store) of your own.

    Args:
        chat_model: A model, or `provider:model`. Default: DISCREET_CHAT_MODEL, else OpenAI with a key, else the offline
            model. `Context.model` overrides it for one run.
        memories: Long-term memory, for example `storage.memories`. None: the graph has none.
        tools: Tools of your own.
        log: Conversation log, for example `storage.log`. None: turns are not logged.
        summarizer: Says what voice and images hold. Default: words sent along, else the chat model if it is multimodal.
        redactor: Puts placeholders in place of sensitive values. Default: the one that the settings describe.
        vault: Holds the real values while a turn runs. Default: this process's memory.
        system_prompt: Replaces the template's own instructions.
        preload: Retrieve memories before the assistant speaks (the nodes memory_gate and retrieve_memories).
        memory_tools: Give the assistant save_memory, recall_memory and forget_memory.
        settings: Default: from the environment.

    Raises:
        ConfigurationError: The chat model's name is unknown, or a setting can't be used.

    Example:
        >>> from discreet.testing import InMemoryMemories
        >>> graph = build_graph(memories=InMemoryMemories()).compile()
    """
    settings = settings or load_settings()
    default_model = (
        chat_model if isinstance(chat_model, BaseChatModel) else model_by_name(chat_model, settings=settings)
    )
    redactor = redactor or default_redactor()
    mask = TurnMask(redactor=redactor, vault=vault or default_vault())
    own_tools = _memory_tools(memories, settings, redactor) if memories is not None and memory_tools else []
    all_tools = [*own_tools, *tools]

    graph = StateGraph(ConversationState, context_schema=Context, input_schema=InputState, output_schema=OutputState)
    graph.add_node(
        "save_input",
        make_save_input(
            summarizer=summarizer or ChatModelSummarizer(default_model),
            max_chars=settings.max_input_chars,
            max_media_bytes=settings.max_media_bytes,
            mask=mask,
        ),
    )
    graph.add_edge(START, "save_input")
    if memories is not None and preload:
        _add_preload(graph, memories, settings)
    else:
        graph.add_edge("save_input", "assistant")
    graph.add_node(
        "assistant",
        make_assistant(
            _by_name(default_model, settings),
            tools=all_tools,
            system_prompt=system_prompt,
            tool_loop_limit=settings.tool_loop_limit,
            mask=mask,
        ),
    )
    if all_tools:
        graph.add_node("tools", make_tools(all_tools, mask=mask))
        graph.add_edge("tools", "assistant")
        graph.add_conditional_edges("assistant", route_after_assistant, ["tools", "persist_filtered"])
    else:
        graph.add_edge("assistant", "persist_filtered")
    graph.add_node("persist_filtered", make_persist_filtered(log=log, mask=mask, default_user=settings.default_user))
    graph.add_edge("persist_filtered", END)
    return graph


def _add_preload(graph: StateGraph[Any, Any, Any, Any], memories: Memories, settings: Settings) -> None:
    """Add the gate and the retrieval, with the edge past the retrieval."""
    graph.add_node("memory_gate", make_memory_gate(small_model=_gate_model(settings), timeout=settings.gate_timeout))
    graph.add_node(
        "retrieve_memories",
        make_retrieve_memories(
            memories=memories,
            limit=settings.retrieve_limit,
            threshold=settings.retrieve_threshold,
            timeout=settings.retrieve_timeout,
            default_user=settings.default_user,
            shared_apps=settings.shared_apps,
        ),
    )
    graph.add_edge("save_input", "memory_gate")
    graph.add_conditional_edges("memory_gate", route_after_gate, ["retrieve_memories", "assistant"])
    graph.add_edge("retrieve_memories", "assistant")


def _gate_model(settings: Settings) -> BaseChatModel | None:
    return model_by_name(settings.gate_model, settings=settings) if settings.gate_model else None


def _memory_tools(memories: Memories, settings: Settings, redactor: TextRedactor) -> list[BaseTool]:
    return [
        MemorySave(memories=memories, default_user=settings.default_user, redactor=redactor),
        MemoryRecall(memories=memories, default_user=settings.default_user, shared_apps=settings.shared_apps),
        MemoryForget(memories=memories, default_user=settings.default_user),
    ]


def _by_name(default: BaseChatModel, settings: Settings) -> Callable[[str | None], BaseChatModel]:
    """Return a function from `Context.model` to a model; the last few are kept."""

    @lru_cache(maxsize=16)
    def named(name: str) -> BaseChatModel:
        return model_by_name(name, settings=settings)

    return lambda name: named(name) if name else default
