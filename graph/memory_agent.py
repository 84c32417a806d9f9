"""The template: save_input -> memory_gate -> retrieve_memories -> assistant <-> tools -> persist_filtered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from discreet.graph.parts import MemoryToolName, Options, Parts, Remember, make_parts
from discreet.nodes.assistant import make_assistant, route_after_assistant
from discreet.nodes.keepers import Keeper
from discreet.nodes.memory_gate import route_after_gate
from discreet.nodes.tools import make_tools
from discreet.ports import (
    ConversationLog,
    LiveSettings,
    MediaSummarizer,
    Memories,
    RollingSummaries,
    ShortTermStore,
    SummaryProvider,
    TextRedactor,
    TurnVault,
)
from discreet.prompts.budget import TokenBudget
from discreet.providers import chat_model as model_by_name
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.state.conversation import ConversationState, InputState, OutputState


def build_graph(
    *,
    chat_model: BaseChatModel | str | None = None,
    memories: Memories | None = None,
    tools: Sequence[BaseTool] = (),
    log: ConversationLog | None = None,
    short_term: ShortTermStore | None = None,
    summaries: RollingSummaries | None = None,
    summary_provider: SummaryProvider | None = None,
    summarizer: MediaSummarizer | None = None,
    redactor: TextRedactor | None = None,
    vault: TurnVault | None = None,
    system_prompt: str | None = None,
    preload: bool = True,
    memory_tools: bool | Collection[MemoryToolName] = True,
    remember: Remember | None = None,
    keepers: Sequence[Keeper] = (),
    budget: TokenBudget | None = None,
    memory_settings: LiveSettings | None = None,
    settings: Settings | None = None,
) -> StateGraph[ConversationState, Context, InputState, OutputState]:
    """Return the builder; compile it with a checkpointer (and a store) of your own.

    Args:
        chat_model: A model, or `provider:model`. Default: DISCREET_CHAT_MODEL, else OpenAI with a key, else the offline
            model. `Context.model` overrides it for one run.
        memories: Long-term memory, for example `storage.memories`. None: the graph has none.
        tools: Tools of your own.
        log: Conversation log, for example `storage.log`. None: turns are not logged.
        short_term: Sessions and their last rounds, for example `storage.short_term`.
        summaries: Rolling summaries of threads, for example `storage.summaries`. None: only the last rounds are told.
        summary_provider: Makes them. Default: the chat model; with the offline model, quotes of what the user said.
        summarizer: Says what voice and images hold. Default: words sent along, else the chat model if it is multimodal.
        redactor: Puts placeholders in place of sensitive values. Default: the one that the settings describe.
        vault: Holds the real values while a turn runs. Default: this process's memory.
        system_prompt: Replaces the template's own instructions.
        preload: Retrieve memories before the assistant speaks (the nodes memory_gate and retrieve_memories).
        memory_tools: Give the assistant save_memory, recall_memory and forget_memory, or those named.
        remember: What becomes a memory by itself: "summaries" of threads, "turns" word for word, or "nothing". Default:
            summaries where there are `summaries` and `memories`. Turns searched by meaning warn.
        keepers: Where filtered turns go besides, see `discreet.nodes.keepers`.
        budget: Tokens of each part of a prompt. Default: 2,000 in all, or what the setting context_window_size leaves.
        memory_settings: Settings that are changed while the graph is in use, for example `storage.memory_settings`.
            Default: as `settings` say.
        settings: Default: from the environment.

    Raises:
        ConfigurationError: The chat model's name is unknown, arguments contradict each other, or a setting can't be used.

    Example:
        >>> from discreet.testing import InMemoryMemories
        >>> graph = build_graph(memories=InMemoryMemories()).compile()
    """
    settings = settings or load_settings()
    model = chat_model if isinstance(chat_model, BaseChatModel) else model_by_name(chat_model, settings=settings)
    options = Options(
        memories=memories,
        log=log,
        short_term=short_term,
        summaries=summaries,
        summary_provider=summary_provider,
        summarizer=summarizer,
        redactor=redactor,
        vault=vault,
        preload=preload,
        memory_tools=memory_tools,
        remember=remember,
        keepers=keepers,
        budget=budget,
        memory_settings=memory_settings,
        settings=settings,
    )
    return _assembled(make_parts(options, model), _by_name(model, settings), tools, system_prompt)


def _assembled(
    parts: Parts,
    model: Callable[[str | None], BaseChatModel],
    tools: Sequence[BaseTool],
    system_prompt: str | None,
) -> StateGraph[ConversationState, Context, InputState, OutputState]:
    graph = StateGraph(ConversationState, context_schema=Context, input_schema=InputState, output_schema=OutputState)
    graph.add_node("save_input", parts.save_input)
    graph.add_edge(START, "save_input")
    if parts.memory_gate is not None and parts.retrieve_memories is not None:
        graph.add_node("memory_gate", parts.memory_gate)
        graph.add_node("retrieve_memories", parts.retrieve_memories)
        graph.add_edge("save_input", "memory_gate")
        graph.add_conditional_edges("memory_gate", route_after_gate, ["retrieve_memories", "assistant"])
        graph.add_edge("retrieve_memories", "assistant")
    else:
        graph.add_edge("save_input", "assistant")
    all_tools = [*parts.memory_tools, *tools]
    assistant = make_assistant(
        model,
        tools=all_tools,
        system_prompt=system_prompt,
        tool_loop_limit=parts.settings.tool_loop_limit,
        prompting=parts.prompting,
        default_user=parts.settings.default_user,
    )
    graph.add_node("assistant", assistant)
    if all_tools:
        graph.add_node("tools", make_tools(all_tools, mask=parts.mask))
        graph.add_edge("tools", "assistant")
        graph.add_conditional_edges("assistant", route_after_assistant, ["tools", "persist_filtered"])
    else:
        graph.add_edge("assistant", "persist_filtered")
    graph.add_node("persist_filtered", parts.persist_filtered)
    graph.add_edge("persist_filtered", END)
    return graph


def _by_name(default: BaseChatModel, settings: Settings) -> Callable[[str | None], BaseChatModel]:
    """Return a function from `Context.model` to a model; the last few are kept."""

    @lru_cache(maxsize=16)
    def named(name: str) -> BaseChatModel:
        return model_by_name(name, settings=settings)

    return lambda name: named(name) if name else default
