"""What the user saw of a turn, as the answers that may be kept of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from itertools import takewhile
from typing import Any, Final
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic import BaseModel

from discreet.checkpoint.messages import is_answer
from discreet.nodes.assistant import SILENT
from discreet.nodes.turn import turn_start
from discreet.state.reasoning import without_reasoning

TOOL_ANSWERED: Final = "(Answered by the tool {name}.)"
"""Stands for the text of a tool that ended the turn, which may hold anything."""


def answers(
    turn: Sequence[BaseMessage], *, structured: Any = None, told_tools: Collection[str] = ()
) -> list[AIMessage]:
    """Return what the user was shown since their newest message, without reasoning; nothing is redacted.

    These are all answers of the model. A tool that ends the turn (`return_direct`) answers with a line that names it, or
    with its text if it is among `told_tools`; where the result is a `structured` response, that is the answer, as JSON.
    Without any of these it is the last text beside a call of a tool.
    """
    start = turn_start(turn)
    since = turn if start is None else turn[start + 1 :]
    said = [_said(message) for message in since if isinstance(message, AIMessage) and is_answer(message)]
    results = list(takewhile(lambda message: isinstance(message, ToolMessage), reversed(since)))[::-1]
    if results:
        return [*said, _from_tools(since, results, structured, told_tools)]
    if said:
        return said
    spoken = [message for message in since if isinstance(message, AIMessage)]
    texts = [_said(message) for message in spoken if without_reasoning(str(message.text)).strip()]
    if not texts and spoken and not spoken[-1].tool_calls:
        return [AIMessage(SILENT, id=spoken[-1].id)]
    return texts[-1:]


def _said(message: AIMessage) -> AIMessage:
    return AIMessage(without_reasoning(str(message.text)), id=message.id)


def _from_tools(
    since: Sequence[BaseMessage], results: Sequence[BaseMessage], structured: Any, told_tools: Collection[str]
) -> AIMessage:
    name = results[-1].name
    if structured is not None and (isinstance(structured, Mapping) or type(structured).__name__ == name):
        return AIMessage(json.dumps(structured, ensure_ascii=False, default=_fields), id=str(uuid4()))
    beside = [
        text
        for called in since[: -len(results)][-1:]
        if isinstance(called, AIMessage) and not is_answer(called)
        if (text := without_reasoning(str(called.text)).strip())
    ]
    lines = [
        str(each.text) if each.name in told_tools else TOOL_ANSWERED.format(name=each.name or "called last")
        for each in results
    ]
    return AIMessage("\n".join([*beside, *lines]), id=str(uuid4()))


def _fields(value: Any) -> Any:
    """Return what JSON has no form for as it has one; placeholders need not fit the types of its fields."""
    if isinstance(value, BaseModel):
        return dict(value)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value.value if isinstance(value, Enum) else str(value)
