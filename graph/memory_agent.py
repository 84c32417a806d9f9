"""The template: save_input -> memory_gate -> retrieve_memories -> assistant <-> tools -> persist_filtered."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_type_hints

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from discreet.errors import ConfigurationError
from discreet.graph.once import OnceBuilder
from discreet.graph.options import GraphOptions, spelt_by
from discreet.graph.parts import Parts, make_parts
from discreet.nodes.assistant import make_assistant, route_after_assistant
from discreet.nodes.memory_gate import route_after_gate
from discreet.nodes.tools import make_tools, route_after
from discreet.providers import chat_model as model_by_name
from discreet.settings import Settings, load_settings
from discreet.state.context import Context
from discreet.state.conversation import ConversationState, InputState, OutputState

RUNNING = ConversationState.__annotations__.keys() - InputState.__annotations__.keys()
"""The channels of the running turn, which callers don't see."""


@spelt_by(GraphOptions)
def build_graph(options: GraphOptions) -> StateGraph[Any, Context, Any, Any]:
    """Return the builder, a `StateGraph`; compile it with a checkpointer (and a store) of your own.

    With a checkpointer a message that comes again under its id gets the answer that it got, at any time.

    It takes the fields of `GraphOptions` as keyword arguments, the storage as the first one too; each is described there, and none has to
    be given: `build_graph(storage, tools=[…])`.

    Raises:
        ConfigurationError: The chat model's name is unknown, arguments contradict each other, or a setting can't be used.

    Example:
        >>> from discreet.testing import InMemoryMemories
        >>> graph = build_graph(memories=InMemoryMemories()).compile()
    """
    settings = options.settings or load_settings()
    given = options.chat_model
    model = given if isinstance(given, BaseChatModel) else model_by_name(given, settings=settings)
    return _assembled(make_parts(options, lambda: model, stacklevel=4), _by_name(model, settings), options)


def _assembled(
    parts: Parts,
    model: Callable[[str | None], BaseChatModel],
    options: GraphOptions,
) -> StateGraph[Any, Context, Any, Any]:
    seen, given = _outside(options.state_schema)
    graph = OnceBuilder(options.state_schema, context_schema=Context, input_schema=seen, output_schema=given)
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
    all_tools = [*parts.memory_tools, *options.tools]
    assistant = make_assistant(
        model,
        tools=all_tools,
        system_prompt=options.system_prompt,
        tool_loop_limit=parts.settings.tool_loop_limit,
        prompting=parts.prompting,
        fallback_model=parts.fallback_model,
        retry=parts.retry,
        default_user=parts.settings.default_user,
    )
    graph.add_node("assistant", assistant)
    if all_tools:
        graph.add_node("tools", make_tools(all_tools, mask=parts.mask))
        if any(tool.return_direct for tool in all_tools):
            graph.add_conditional_edges("tools", route_after(all_tools), ["assistant", "persist_filtered"])
        else:
            graph.add_edge("tools", "assistant")
        graph.add_conditional_edges("assistant", route_after_assistant, ["tools", "persist_filtered"])
    else:
        graph.add_edge("assistant", "persist_filtered")
    graph.add_node("persist_filtered", parts.persist_filtered)
    graph.add_edge("persist_filtered", END)
    return graph


def _outside(schema: type[Any]) -> tuple[type[Any], type[Any]]:
    """Return what callers send and get of a state: all but the channels that belong to the running turn."""
    if schema is ConversationState:
        return InputState, OutputState
    hints = get_type_hints(schema, include_extras=True)
    if missing := get_type_hints(ConversationState).keys() - hints.keys():
        raise ConfigurationError(
            f"state_schema lacks {', '.join(sorted(missing))}. Make it a subclass of discreet.state.ConversationState."
        )
    own = {name: hint for name, hint in hints.items() if name not in RUNNING}
    outside = TypedDict("outside", own)  # type: ignore[misc]  # made at run time
    return outside, outside


def _by_name(default: BaseChatModel, settings: Settings) -> Callable[[str | None], BaseChatModel]:
    """Return a function from `Context.model` to a model; the last few are kept."""

    @lru_cache(maxsize=16)
    def named(name: str) -> BaseChatModel:
        return model_by_name(name, settings=settings)

    return lambda name: named(name) if name else default
