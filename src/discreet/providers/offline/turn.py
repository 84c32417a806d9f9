"""The running turn as the offline model sees it: the user's message, the tool results since, the bound tools."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from discreet.prompts.data import read_lines
from discreet.prompts.facts import FACTS_TAG
from discreet.providers.offline.commands import ToolSchemas
from discreet.state.media import TRANSCRIPT_MARK
from discreet.state.message_text import text_of

_FACT = re.compile(r"- \[\w+\] (\".*\")( \([^\"]*\))?")


@dataclass(frozen=True)
class ToolResult:
    """What one tool returned in this turn."""

    tool: str
    text: str
    failed: bool

    @property
    def data(self) -> dict[str, Any]:
        """The result as JSON object; empty if it is none."""
        try:
            data = json.loads(self.text)
        except ValueError:
            return {}
        return data if isinstance(data, dict) else {}


@dataclass(frozen=True)
class Turn:
    """Everything since the last human message, and what was there before it."""

    text: str
    """What the user said or wrote."""
    tools: ToolSchemas
    results: tuple[ToolResult, ...] = ()
    """In the order in which they came."""
    facts: tuple[str, ...] = ()
    """The lines of the system prompt's facts block, most relevant first."""
    is_first: bool = True
    """Whether nothing was answered before in this conversation."""
    recorded: bool = False
    """Whether words of a recording are in it, which are not to be kept."""
    seed: str = field(default="", repr=False)
    """Tells this turn from others; ids of tool calls are made from it."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], tools: ToolSchemas) -> Turn:
        """Return the turn that the last human message began."""
        start = max((i for i, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
        before, since = messages[: max(start, 0)], messages[start + 1 :]
        human = messages[start] if start >= 0 else HumanMessage("")
        said = text_of(human)
        system = "\n".join(text_of(message) for message in messages if isinstance(message, SystemMessage))
        return cls(
            text=said.replace(TRANSCRIPT_MARK, "").strip(),
            tools=tools,
            results=tuple(_results(since)),
            facts=tuple(
                f"{json.loads(fact[1])}{fact[2] or ''}"
                for line in read_lines(system, FACTS_TAG)
                if (fact := _FACT.fullmatch(line))
            ),
            is_first=not any(isinstance(message, AIMessage) for message in before),
            recorded=TRANSCRIPT_MARK in said,
            seed=f"{human.id}\n{len(messages)}\n{said}",
        )

    def result_of(self, tool: str) -> ToolResult | None:
        """Return what `tool` returned last in this turn, if it was called."""
        return next((result for result in reversed(self.results) if result.tool == tool), None)


def _results(messages: Sequence[BaseMessage]) -> list[ToolResult]:
    """Return the results among `messages`; a result without a tool's name gets that of the call it answers."""
    calls = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    names = {call["id"]: call["name"] for call in calls}
    return [
        ToolResult(
            tool=message.name or names.get(message.tool_call_id, ""),
            text=text_of(message),
            failed=message.status == "error",
        )
        for message in messages
        if isinstance(message, ToolMessage)
    ]
