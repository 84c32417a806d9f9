"""What the user saw of a turn: the answers that may be kept of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from itertools import takewhile
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic import BaseModel

from discreet.checkpoint.message_ids import ANSWER
from discreet.state.message_text import as_content, spoken_blocks, spoken_text, text_blocks
from discreet.state.reasoning import without_reasoning

TOOL_ANSWERED: Final = "(Answered by the tool {name}.)"
"""Stands for the text of a tool that ended the turn, which may hold anything."""

TOOL_BLOCKS = {"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call"}
TOOL_KEYS = {"tool_calls", "function_call"}


def is_answer(message: BaseMessage) -> bool:
    """Return whether `message` says something to the user and asks for nothing to be run."""
    if not isinstance(message, AIMessage) or message.tool_calls or message.invalid_tool_calls:
        return False
    if message.additional_kwargs and TOOL_KEYS & message.additional_kwargs.keys():
        return False
    content = message.content
    if isinstance(content, str):
        spoken = without_reasoning(content)
        return bool(spoken) and not spoken.isspace()
    kinds = {block.get("type") for block in content if isinstance(block, dict)}
    return not TOOL_BLOCKS & kinds and bool(spoken_text(message).strip())


def turn_answers(
    since: Sequence[BaseMessage], *, structured: Any = None, told_tools: Collection[str] = (), over: bool = True
) -> list[AIMessage]:
    """Return what the user was shown in `since`, all that follows their newest message; nothing is redacted.

    These are all answers of the model. A tool that ends the turn (`return_direct`) answers with a line that names it, or
    with its text if it is among `told_tools`; where the result is a `structured` response, that is the answer, as JSON. A
    tool that is called after an answer, to log it say, is no answer unless it is told.
    Without any of these it is the last text beside a call of a tool. A turn that is not `over` waits for the user: its tools
    haven't answered.
    """
    said = [message for message in since if isinstance(message, AIMessage) and is_answer(message)]
    results = list(takewhile(lambda message: isinstance(message, ToolMessage), reversed(since)))[::-1] if over else []
    if results and (len(results) == len(since) or _calls(since[-len(results) - 1])):
        told = structured is not None or any(result.name in told_tools for result in results)
        return [*said, _from_tools(since, results, structured, told_tools)] if told or not said else said
    if said and over:
        return said
    spoken = [m for m in since if isinstance(m, AIMessage) and spoken_text(m).strip()]
    last = spoken[-1:]
    return [*said, *(_text_of(message) for message in last if not is_answer(message))]


def _calls(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and not is_answer(message)


def _text_of(message: AIMessage) -> AIMessage:
    return AIMessage(as_content(spoken_blocks(message)), id=message.id)


def _from_tools(
    since: Sequence[BaseMessage], results: Sequence[BaseMessage], structured: Any, told_tools: Collection[str]
) -> AIMessage:
    """Return the answer, under an id of its own: a client may send the call and the results, which aren't kept, again."""
    name, message_id = results[-1].name, results[-1].id and f"{results[-1].id}{ANSWER}"
    if structured is not None and (isinstance(structured, Mapping) or type(structured).__name__ == name):
        return AIMessage(json.dumps(structured, ensure_ascii=False, default=_fields), id=message_id)
    texts = [text for called in since[: -len(results)][-1:] for text in spoken_blocks(called)]
    for each in results:
        told = TOOL_ANSWERED.format(name=each.name or "called last")
        texts += text_blocks(each.content) if each.name in told_tools else [told]
    return AIMessage(as_content(texts), id=message_id)


def _fields(value: Any) -> Any:
    """Return what JSON has no form for as it has one; placeholders need not fit the types of its fields."""
    if isinstance(value, BaseModel):
        return dict(value)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value.value if isinstance(value, Enum) else str(value)
