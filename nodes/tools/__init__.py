"""The node `tools` and the three memory tools.

The user's id comes from the runtime, never from the model; results live in the running turn only.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from discreet.nodes.tools.memory_forget import MemoryForget
from discreet.nodes.tools.memory_recall import MemoryRecall
from discreet.nodes.tools.memory_save import MemorySave

__all__ = ["MemoryForget", "MemoryRecall", "MemorySave", "make_tools"]


def make_tools(tools: Sequence[BaseTool], *, messages_key: str = "messages") -> ToolNode:
    """Return the node `tools`. A tool that fails answers with its error, so that the model can tell the user."""
    return ToolNode(list(tools), handle_tool_errors=_tell, messages_key=messages_key)


def _tell(error: Exception) -> str:
    """Say what went wrong; this stays in the running turn, as every tool result does."""
    return f"{type(error).__name__}: {error}"
