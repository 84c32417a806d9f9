"""The tool `save_memory`: keep one statement of the user's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import ArgsSchema
from pydantic import Field, SkipValidation

from discreet.errors import CopiedFromToolError, MemoryRefusedError, SecretRefusedError
from discreet.metrics import memories_refused
from discreet.nodes.provenance import provenance
from discreet.nodes.tools.memory_tool import MemoryTool, MemoryToolArgs
from discreet.nodes.turn import turn_start, turn_text
from discreet.ports import TextRedactor
from discreet.redaction.configured import default_redactor
from discreet.redaction.placeholders import SECRET, written
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord

COPIED_WORDS = 4
"""A run of this many words that stands in a tool's result and not in the user's message counts as copied; shorter runs
("in New York City") occur by chance."""

SavedType = Literal["user_fact", "preference", "event", "conversation_insight", "important_moment"]


class MemorySaveArgs(MemoryToolArgs):
    """What the model gives."""

    text: str = Field(min_length=1, max_length=MAX_MEMORY_CHARS, description="One short sentence about the user.")
    type: SavedType = Field(default="user_fact", description="What kind of memory it is.")
    importance: int = Field(default=5, ge=1, le=10, description="1 (trivial) to 10 (vital).")
    tags: list[str] = Field(default_factory=list, max_length=10, description="A few labels.")


class MemorySave(MemoryTool):
    """Saves what the user says about themselves; refuses secrets and tool data with a sentence for the model."""

    name: str = "save_memory"
    description: str = (
        "Keep one thing that the user said about themselves for later conversations. "
        "Never passwords, keys or tokens, and never what a tool returned."
    )
    args_schema: ArgsSchema | None = MemorySaveArgs
    redactor: SkipValidation[TextRedactor] = Field(default_factory=default_redactor, exclude=True, repr=False)
    """Finds secrets: texts in which it puts `<SECRET>` are refused."""
    messages_key: str = Field(default="messages", exclude=True)
    """State key of the messages, for graphs with a schema of their own."""

    async def _arun(
        self,
        text: str,
        type: SavedType,  # noqa: A002  # the argument's name for the model
        importance: int,
        tags: list[str],
        runtime: Any = None,
    ) -> dict[str, Any]:
        run, user_id = self.speaker(runtime)
        found = getattr(runtime, "state", None)
        state: dict[str, Any] = found if isinstance(found, dict) else {}
        messages: Sequence[BaseMessage] = state.get(self.messages_key, ())
        try:
            self._check(text, messages)
        except MemoryRefusedError as refusal:
            memories_refused.labels(refusal.code).inc()
            raise
        record = MemoryRecord(
            text=text,
            type=type,
            importance=importance,
            tags=tags,
            thread_id=run.thread_id,
            request_id=(state.get("request") or {}).get("request_id"),
            agent_id=run.context.agent_id,
            app_name=run.context.app_name,
            provenance=provenance(messages, run, source=self.name),
        )
        (stored,) = await self.memories.save(user_id, [record])
        return {"saved": True, "entry_id": str(stored.entry_id), "text": stored.text, "type": stored.type}

    def _check(self, text: str, messages: Sequence[BaseMessage]) -> None:
        """Refuse what must not be kept.

        Raises:
            SecretRefusedError: A password, key or token.
            CopiedFromToolError: Words of a tool's result that the user did not say.
        """
        if written(SECRET) in self.redactor.redact(text):
            raise SecretRefusedError
        start = turn_start(messages) or 0
        results = [str(m.text) for m in messages[start:] if isinstance(m, ToolMessage) and m.name not in MEMORY_TOOLS]
        if copied_from(text, results, said=turn_text(messages)):
            raise CopiedFromToolError


MEMORY_TOOLS = frozenset({"save_memory", "recall_memory", "forget_memory"})
"""Their results hold the user's own memories."""

_WORD = re.compile(r"[一-鿿぀-ヿ]|[^\W_]+")


def copied_from(text: str, results: Sequence[str], *, said: str) -> bool:
    """Whether `text` repeats words of `results` that the user has not `said`.

    Words are compared without case and punctuation, Chinese by character. A text shorter than `COPIED_WORDS` counts as
    copied only if all of it stands in a result.
    """
    words = _words(text)
    if not words:
        return False
    spoken = f" {' '.join(_words(said))} "
    length = min(COPIED_WORDS, len(words))
    runs = {f" {' '.join(words[i : i + length])} " for i in range(len(words) - length + 1)}
    unsaid = [run for run in runs if run not in spoken]
    return any(run in f" {' '.join(_words(result))} " for result in results for run in unsaid)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
