"""One turn of the playground: what is known of it while it runs, and afterwards. Only in the RAM of this process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from discreet.graph.streams import answer_of, piece_of
from discreet.state.conversation import Gate
from discreet.state.message_text import text_of
from discreet.state.records import ScoredMemory


@dataclass(kw_only=True)
class ToolUse:
    """A tool that the model called."""

    name: str
    arguments: str
    """JSON, with real values."""
    result: str | None = None
    """None while it works."""
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Search:
    """One search of long-term memory, as the graph made it."""

    question: str
    """Redacted, as memories are."""
    limit: int
    threshold: float
    hits: Sequence[ScoredMemory]
    by_tool: bool
    """Whether the model had it made by a tool, instead of the node before it."""


@dataclass(frozen=True, kw_only=True)
class PromptMessage:
    """One message that the model got."""

    role: str
    text: str
    """With real values."""


@dataclass(kw_only=True)
class Turn:
    """What was said, what came of it, and how."""

    said: str = field(repr=False)
    answer: str = field(default="", repr=False)
    error: str = field(default="", repr=False)
    """What went wrong, in a sentence; empty: nothing."""
    is_running: bool = True
    request_id: str | None = None
    """By which the database has the turn; None before it has begun."""
    gate: Gate | None = None
    searches: list[Search] = field(default_factory=list, repr=False)
    prompt: Sequence[PromptMessage] = field(default=(), repr=False)
    """What the model got when it was asked last."""
    asked: int = 0
    """How often it was asked."""
    tools: dict[str, ToolUse] = field(default_factory=dict, repr=False)
    """By the id of the call."""
    before: frozenset[str] = field(default=frozenset(), repr=False)
    """Digests of the rows that were there when it began."""
    steps: int = 0
    """Grows with every step that ends, so that whoever looks on knows that there is something new."""

    def hear(self, event: Any) -> None:
        """Take an event of the mode `messages`: a piece of the answer."""
        self.answer += piece_of(event)

    def take(self, updates: Mapping[str, Any]) -> None:
        """Take an event of the mode `updates`: what a node has done."""
        for node, update in updates.items():
            said: Mapping[str, Any] = update if isinstance(update, dict) else {}
            if node == "save_input":
                self.request_id = said["request"]["request_id"]
            elif node == "memory_gate":
                self.gate = said["gate"]
            elif node == "assistant":
                self._call(said.get("messages", ()))
            elif node == "tools":
                self._return(said.get("messages", ()))
        self.answer = answer_of(updates) or self.answer
        self.steps += 1

    def ask(self, messages: Sequence[BaseMessage]) -> None:
        """Take what the model gets: what tools returned to it too, as it was. What it said before is over."""
        self._return(messages)
        self.prompt = [PromptMessage(role=message.type, text=_told_by(message)) for message in messages]
        self.asked += 1
        self.answer = ""

    def _call(self, messages: Iterable[BaseMessage]) -> None:
        for message in messages:
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                written = json.dumps(call["args"], ensure_ascii=False)
                self.tools[call["id"] or ""] = ToolUse(name=call["name"], arguments=written)

    def _return(self, messages: Iterable[BaseMessage]) -> None:
        for message in messages:
            if isinstance(message, ToolMessage) and (use := self.tools.get(message.tool_call_id)):
                use.result, use.failed = text_of(message), message.status == "error"


def _told_by(message: BaseMessage) -> str:
    """Return what a message says, or which tools it calls."""
    text = text_of(message)
    if text or not isinstance(message, AIMessage):
        return text
    return "\n".join(f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})" for call in message.tool_calls)
