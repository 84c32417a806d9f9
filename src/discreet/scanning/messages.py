"""Tell messages from other values, in all the forms that they are stored in, and what else of a turn a value is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from discreet.scanning.values import Foreign

USER, MODEL, TOOL, SYSTEM = "user messages", "model messages", "tool results", "system prompts"
TOOL_CALLS, REASONING, RESPONSE_METADATA, ARTIFACTS = "tool calls", "reasoning", "response metadata", "artifacts"
SENDS, OBJECTS, MEDIA, ENCRYPTED = "sends", "objects of classes", "media", "encrypted values"
PICKLES, RUNNABLE_PICKLES = "pickles", "pickles that would run code"
ERRORS, INTERRUPTS, RESUMES, INPUTS = "errors", "interrupts", "answers to interrupts", "raw inputs"

KINDS: Final = (
    USER, MODEL, TOOL, TOOL_CALLS, SYSTEM, REASONING, RESPONSE_METADATA, ARTIFACTS, MEDIA, SENDS, INPUTS, INTERRUPTS,
    RESUMES, ERRORS, OBJECTS, PICKLES, RUNNABLE_PICKLES, ENCRYPTED,
)  # fmt: skip
"""In the order of reports."""

CHANNELS: Final = {"__error__": ERRORS, "__interrupt__": INTERRUPTS, "__resume__": RESUMES, "__start__": INPUTS}
"""Channels of LangGraph's whose values are something by themselves."""

_BY_TYPE: Final = {
    "human": USER, "user": USER, "ai": MODEL, "assistant": MODEL, "AIMessageChunk": MODEL, "tool": TOOL,
    "function": TOOL, "system": SYSTEM, "developer": SYSTEM,
}  # fmt: skip
_BY_CLASS: Final = {
    "HumanMessage": USER, "AIMessage": MODEL, "ToolMessage": TOOL, "FunctionMessage": TOOL, "SystemMessage": SYSTEM,
    "HumanMessageChunk": USER, "AIMessageChunk": MODEL, "ToolMessageChunk": TOOL, "SystemMessageChunk": SYSTEM,
}  # fmt: skip
_ITEMS: Final = {"function_call": TOOL_CALLS, "function_call_output": TOOL, "reasoning": REASONING}
"""Items of the OpenAI Responses API that are no messages."""
REASONING_BLOCKS: Final = frozenset({"reasoning", "thinking", "redacted_thinking"})
_PLAIN_MODULES: Final = (
    "builtins.",
    "uuid.",
    "datetime.",
    "decimal.",
    "collections.",
    "pathlib.",
    "zoneinfo.",
    "re.",
    "ipaddress.",
)


class Message(NamedTuple):
    """A message as it is stored."""

    kind: str
    """`USER`, `MODEL`, `TOOL`, `SYSTEM`, or a kind of item that is no message."""
    fields: dict[str, Any]
    """The dict in the value that has its content, to be read or changed."""


def as_message(value: Any) -> Message | None:
    """Return a value as a message; None if it is none."""
    if isinstance(value, Foreign):
        return _of_object(value)
    if not isinstance(value, dict):
        return None
    if value.get("type") == "constructor" and isinstance(value.get("id"), list) and value["id"]:
        return _of_class(str(value["id"][-1]), value.get("kwargs"))
    said = value.get("type", value.get("role"))
    return _of_dict(value, said) if isinstance(said, str) else None


def _of_object(value: Foreign) -> Message | None:
    fields = value.arg
    if isinstance(fields, list):  # of a pickle: what it is made with, then its state
        states = [each for each in fields if isinstance(each, dict)]
        fields = next((each["__dict__"] for each in states if isinstance(each.get("__dict__"), dict)), None)
    return _of_class(value.kind, fields)


def _of_class(name: str, fields: Any) -> Message | None:
    """Return a message of LangChain's class `name`; that for any role says in its fields whose it is."""
    role = fields.get("role") if name == "ChatMessage" and isinstance(fields, dict) else None
    kind = _BY_TYPE.get(str(role).lower()) if role else _BY_CLASS.get(name)
    return Message(kind, fields) if kind and isinstance(fields, dict) else None


def _of_dict(value: dict[str, Any], said: str) -> Message | None:
    if "content" in value and (kind := _BY_TYPE.get(said) or _BY_TYPE.get(str(value.get("role")))):
        return Message(kind, value)
    if isinstance(data := value.get("data"), dict) and "content" in data and (kind := _BY_TYPE.get(said)):
        return Message(kind, data)
    if said in _ITEMS and ("call_id" in value or "summary" in value):
        return Message(_ITEMS[said], value)
    return None


def kinds_of(value: Any) -> Iterator[str]:
    """Yield what a value is, not what is in it; nothing of plain data."""
    message = as_message(value)
    if message is not None:
        yield message.kind
        yield from _beside(message)
    elif isinstance(value, Foreign):
        if value.kind == "Send":
            yield SENDS
        elif value.kind == "Interrupt":
            yield INTERRUPTS
        elif not value.name.startswith(_PLAIN_MODULES):
            yield OBJECTS


def _beside(message: Message) -> Iterator[str]:
    """Yield what a message carries beside its text."""
    fields = message.fields
    more = fields.get("additional_kwargs")
    more = more if isinstance(more, dict) else {}
    content = fields.get("content")
    blocks = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    calls = fields.get("tool_calls") or more.get("tool_calls")
    if isinstance(calls, list):
        yield from (TOOL_CALLS for _ in calls)
    if more.get("reasoning_content") or any(each.get("type") in REASONING_BLOCKS for each in blocks):
        yield REASONING
    if fields.get("response_metadata"):
        yield RESPONSE_METADATA
    if fields.get("artifact") is not None:
        yield ARTIFACTS
