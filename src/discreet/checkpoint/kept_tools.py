"""Calls and results of the tools that a policy names: kept in their places, each call with its result, so that the next turn has them.

Providers refuse a call without its result, and a result without its call: of a message with several calls those stay that have one and are
of a named tool.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from discreet.checkpoint.values import NotPlainError, seal, storable_copy
from discreet.state.message_text import text_blocks
from discreet.state.text import storable

if TYPE_CHECKING:
    from discreet.checkpoint.policy import CheckpointPolicy

MOST_CHARACTERS: Final = 10_000
"""Of a result, redacted, and of the arguments of a call as JSON. What is longer is cut, or left out, and says so."""

CUT: Final = "\n[{count} more characters were not kept]"
NO_ARGUMENTS: Final = "not kept: too long, or no plain data"


class KeepsTools(BaseCheckpointSaver[Any]):
    """A checkpointer with a policy, which names the tools. Nodes know ours by it: they import nothing of PostgreSQL."""

    policy: CheckpointPolicy


def kept_pairs(messages: Sequence[Any], tools: Collection[str]) -> dict[int, BaseMessage]:
    """Return by their places what stays of calls of `tools` and of their results; nothing is redacted."""
    kept: dict[int, BaseMessage] = {}
    for at, message in enumerate(messages) if tools else ():
        if not isinstance(message, AIMessage) or not message.tool_calls:
            continue
        results: dict[str, int] = {}
        for place in range(at + 1, len(messages)):
            if not isinstance(messages[place], ToolMessage):
                break
            results.setdefault(messages[place].tool_call_id, place)
        calls = [call for call in message.tool_calls if call["name"] in tools and call["id"] in results]
        if calls:
            kept[at] = AIMessage("", id=message.id, tool_calls=calls)
        for call in calls:
            result = messages[results[str(call["id"])]]
            kept[results[str(call["id"])]] = result.model_copy(update={"name": call["name"]})
    return kept


def call_form(message: AIMessage, policy: CheckpointPolicy) -> str:
    """Return what is stored of the calls of a message, beside its id."""
    calls = [
        {"name": call["name"], "args": _arguments(call["name"], call["args"], policy), "id": policy.safe_id(call["id"])}
        for call in message.tool_calls
    ]
    return f"ai:{_as_json(calls)}"


def result_form(message: ToolMessage, policy: CheckpointPolicy) -> str:
    """Return what is stored of a result beside its id and text."""
    told = {"name": message.name, "status": message.status, "tool_call_id": policy.safe_id(message.tool_call_id)}
    return f"tool:{_as_json(told)}"


def result_text(message: ToolMessage, policy: CheckpointPolicy) -> str:
    """Return the text of a result as it is stored. It is redacted whole, and cut then: what is cut in two is no value any more."""
    texts = text_blocks(message.content)
    keeps = policy.tools.get(message.name or "")
    is_kept = keeps is not None and keeps.value == "keep"
    text = policy.without_foreign_tags(storable("\n".join(texts))) if is_kept else _redacted(texts, policy)
    if len(text) <= MOST_CHARACTERS + len(CUT):
        return text
    return text[:MOST_CHARACTERS] + CUT.format(count=len(text) - MOST_CHARACTERS)


def form_of_pair(message: BaseMessage) -> str | None:
    """Return the form of a call or a result that was stored; None of any other message."""
    if isinstance(message, ToolMessage):
        told = {"name": message.name, "status": message.status, "tool_call_id": message.tool_call_id}
        return f"tool:{_as_json(told)}"
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = [{name: call[name] for name in ("name", "args", "id")} for call in message.tool_calls]
        return f"ai:{_as_json(calls)}"
    return None


def made_of_pair(form: str, message_id: str | None, text: str) -> BaseMessage:
    """Return the message of such a form."""
    kind, _, told = form.partition(":")
    if kind == "tool":
        return ToolMessage(content=text, id=message_id, **json.loads(told))
    return AIMessage(content=text, id=message_id, tool_calls=json.loads(told))


def tools_of(form: str) -> set[str]:
    """Return the names of the tools in a form."""
    kind, _, told = form.partition(":")
    found: Any = json.loads(told) if told else []
    return {str(each["name"]) for each in ([found] if kind == "tool" else found)}


def _redacted(texts: Sequence[str], policy: CheckpointPolicy) -> str:
    return policy.redact_blocks(texts, trusted=False) if texts else ""


def _arguments(name: str, given: Mapping[str, Any], policy: CheckpointPolicy) -> Any:
    rule = policy.tools[name]
    try:
        kept = seal(rule, storable_copy(rule, dict(given)), policy)
        return kept if len(_as_json(kept)) <= MOST_CHARACTERS else {"arguments": NO_ARGUMENTS}
    except (NotPlainError, TypeError):
        return {"arguments": NO_ARGUMENTS}


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
