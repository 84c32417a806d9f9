"""The tools that a client is offered: those of the template's assistant, and the export."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from langchain_core.tools import BaseTool
from langsmith.run_helpers import tracing_context
from mcp import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel

from discreet.errors import CallLimitError
from discreet.mcp.call_limits import CallLimits
from discreet.mcp.export_tool import ExportMemories
from discreet.nodes.tools import MemoryForget, MemoryRecall, MemorySave, MemoryUpdate
from discreet.nodes.tools.errors import tool_error
from discreet.ports import LiveSettings, Memories, RollingSummaries, TextRedactor
from discreet.settings import Settings
from discreet.storage import Storage

logger = logging.getLogger(__name__)

_LOOKS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_REMOVES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

_SHOWN: Final[Mapping[str, tuple[str, ToolAnnotations]]] = {
    "save_memory": ("Save a memory", _ADDS),  # what is known already is refreshed
    "recall_memory": ("Search memories", _LOOKS),
    "update_memory": ("Correct a memory", _REMOVES),  # the wrong text is gone
    "forget_memory": ("Forget for good", _REMOVES),
    "export_memories": ("Export everything", _LOOKS),
}
"""By the name of a tool: what people see in its place, and what a client may know before it is called."""


def make_tools(
    *,
    memories: Memories,
    summaries: RollingSummaries,
    memory_settings: LiveSettings,
    storage: Callable[[], Storage],
    redactor: TextRedactor,
    settings: Settings,
) -> list[BaseTool]:
    """Return the tools. Whose memories they work on says `configurable.user_id` of the config that they are called with."""
    apps = settings.shared_apps
    return [
        MemorySave(memories=memories, redactor=redactor),
        MemoryRecall(memories=memories, shared_apps=apps, memory_settings=memory_settings),
        MemoryUpdate(memories=memories, redactor=redactor),
        MemoryForget(memories=memories, redactor=redactor, summaries=summaries, shared_apps=apps),
        ExportMemories(storage=storage),
    ]


class OfferedTools:
    """Describes tools as the protocol has it, and calls them for one user or another."""

    def __init__(self, tools: Sequence[BaseTool], limits: CallLimits) -> None:
        """Offer `tools`, which `_SHOWN` names; `limits` say how often a user may call them."""
        self._tools = {tool.name: tool for tool in tools}
        self._limits = limits

    @property
    def described(self) -> list[Tool]:
        """What a client is told of them."""
        return [_described(tool) for tool in self._tools.values()]

    async def call(self, name: str, arguments: Mapping[str, Any], user_id: str) -> CallToolResult:
        """Return the result of a tool as text and as data; of a call that fails, code, message and whether it may be repeated.

        Raises:
            MCPError: There is no tool of that name.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"There is no such tool. There are {', '.join(self._tools)}.")
        began = time.perf_counter()
        try:
            self._limits.take(user_id)
            _schema(tool).model_validate(arguments, extra="forbid")
            with tracing_context(enabled=False):  # what tools get and return is text of a user
                told = await tool.ainvoke(dict(arguments), {"configurable": {"user_id": user_id}})
        except Exception as error:  # noqa: BLE001  # the model is told of whatever a tool raises, as by the node `tools`
            return failed(error)
        finally:
            logger.info("mcp.call tool=%s seconds=%.3f", name, time.perf_counter() - began)
        return _result(told)


def failed(error: Exception) -> CallToolResult:
    """Return what a client is told of a call that failed: the form of `tool_error`, and when a call is worth it again."""
    told: dict[str, Any] = json.loads(tool_error(error))
    if isinstance(error, CallLimitError):
        told["error"]["retry_after_seconds"] = error.retry_after_seconds
    return _result(told, is_error=True)


def _described(tool: BaseTool) -> Tool:
    title, annotations = _SHOWN[tool.name]
    schema = _schema(tool).model_json_schema()
    arguments = {"type": "object", "properties": schema.get("properties", {}), "additionalProperties": False}
    if required := schema.get("required"):
        arguments["required"] = required
    return Tool(
        name=tool.name, title=title, description=tool.description, input_schema=arguments, annotations=annotations
    )


def _schema(tool: BaseTool) -> type[BaseModel]:
    """Return what a client may give: nothing about users, and nothing that the graph puts in."""
    schema = tool.tool_call_schema
    assert isinstance(schema, type)  # a dict: of tools that have no class for their arguments
    assert issubclass(schema, BaseModel)
    return schema


def _result(told: dict[str, Any], *, is_error: bool = False) -> CallToolResult:
    text = json.dumps(told, ensure_ascii=False)
    return CallToolResult(content=[TextContent(text=text)], structured_content=told, is_error=is_error)
