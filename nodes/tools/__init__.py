"""The node `tools` and the four memory tools.

The user's id comes from the runtime, never from the model; results live in the running turn only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from itertools import takewhile
from typing import Any, Literal

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import BaseModel

from discreet.nodes.masking import OpenTurn, TurnMask
from discreet.nodes.node import Node, State, Update, messages_in
from discreet.nodes.tools.errors import check_arguments, tool_error
from discreet.nodes.tools.memory_forget import MemoryForget
from discreet.nodes.tools.memory_recall import MemoryRecall
from discreet.nodes.tools.memory_save import MemorySave
from discreet.nodes.tools.memory_update import MemoryUpdate
from discreet.nodes.turn import turn_text

__all__ = ["MemoryForget", "MemoryRecall", "MemorySave", "MemoryUpdate", "make_tools", "route_after"]

ToolResult = ToolMessage | Command[Any]


def make_tools(tools: Sequence[BaseTool], *, mask: TurnMask | None = None, messages_key: str = "messages") -> Node:
    """Return the node `tools`: LangGraph's `ToolNode`, in a masked state behind the turn's vault.

    Tools get the arguments that the model wrote and, where they ask for it, the state with the real messages. A tool that fails answers
    with a typed error, so that the model can tell the user, and so does one that would get a placeholder in the place of a value; a tool
    whose `metadata` has `placeholders` set takes them. In a masked state results stand redacted and shortened, and reach the model whole;
    what a tool asks in a pause stands there redacted too.

    Args:
        tools: What the model may call.
        mask: Redactor and vault; by default those of the process.
        messages_key: State key of the messages.
    """
    mask = mask or TurnMask()

    async def checked(request: ToolCallRequest, run: Callable[[ToolCallRequest], Awaitable[ToolResult]]) -> ToolResult:
        check_arguments(request, mask.redactor)
        return await run(request)

    said: ContextVar[str] = ContextVar("said", default="")

    def told(error: Exception) -> str:
        return tool_error(error, said.get())

    node = ToolNode(list(tools), handle_tool_errors=told, messages_key=messages_key, awrap_tool_call=checked)

    async def run_tools(state: State) -> Update:
        messages = messages_in(state, messages_key)
        turn = await mask.turn(messages)
        said.set(turn_text(messages))
        if not turn.is_masked:
            done: Update = await node.ainvoke(state, get_config())
            return done
        try:
            done = await node.ainvoke(_with(state, messages_key, turn.real(messages)), get_config())
        except GraphInterrupt as pause:
            raise await turn.masked_pause(pause) from None
        results = [await _masked(part, turn, messages_key) for part in (done if isinstance(done, list) else [done])]
        return results if isinstance(done, list) else results[0]

    return Node("tools", run_tools)


def route_after(
    tools: Sequence[BaseTool], *, messages_key: str = "messages"
) -> Callable[[State], Literal["assistant", "persist_filtered"]]:
    """Return the edge after the node: past the assistant where all that were called have `return_direct`, and none failed."""
    direct = {tool.name for tool in tools if tool.return_direct}

    def route_after_tools(state: State) -> Literal["assistant", "persist_filtered"]:
        messages = messages_in(state, messages_key)
        results = takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages))
        ended = [each.name in direct and getattr(each, "status", "") != "error" for each in results]
        return "persist_filtered" if ended and all(ended) else "assistant"

    return route_after_tools


def _with(state: State, key: str, messages: list[BaseMessage]) -> State:
    """Return the state with these messages, as the kind that it is."""
    if isinstance(state, Mapping):
        return {**state, key: messages}
    if isinstance(state, BaseModel):
        return state.model_copy(update={key: messages})
    return dataclasses.replace(state, **{key: messages})


async def _masked(part: Any, turn: OpenTurn, key: str) -> Any:
    """Return one output of the tool node with its messages masked."""
    if isinstance(part, Command):
        update = part.update
        if isinstance(update, dict) and key in update:
            part = dataclasses.replace(part, update={**update, key: await turn.masked(update[key])})
        return part
    return {**part, key: await turn.masked(part[key])}
