"""The tool `save_memory`: keep what the user states, one memory a statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import ArgsSchema
from pydantic import Field

from discreet.errors import CopiedFromToolError, MemoryRefusedError, SecretRefusedError
from discreet.metrics import memories_refused
from discreet.nodes.provenance import provenance
from discreet.nodes.tools.copied import copied_from
from discreet.nodes.tools.memory_tool import HearingTool, MemoryToolArgs, answered, state_of
from discreet.nodes.turn import turn_start
from discreet.ports import TextRedactor
from discreet.redaction.placeholders import SECRET, written
from discreet.retrieval.clauses import statements
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord

SavedType = Literal["user_fact", "preference", "event", "conversation_insight", "important_moment"]


class MemorySaveArgs(MemoryToolArgs):
    """What the model gives."""

    text: str = Field(min_length=1, max_length=MAX_MEMORY_CHARS, description="One short sentence with one fact.")
    type: SavedType = Field(default="user_fact", description="What kind of memory it is.")
    importance: int = Field(default=5, ge=1, le=10, description="1 (trivial) to 10 (vital).")
    tags: list[str] = Field(default_factory=list, max_length=10, description="A few labels.")


class MemorySave(HearingTool):
    """Saves what the user says about themselves; refuses secrets and tool data with a sentence for the model.

    A text of several statements becomes a memory for each, with one request_id and time, so that each is found and changes
    by itself. The answer tells the first, and those that follow under `also`.
    """

    name: str = "save_memory"
    description: str = (
        "Keep one fact that the user said about themselves for later conversations; call it once for each fact. "
        "Never passwords, keys or tokens, and never what a tool returned."
    )
    args_schema: ArgsSchema | None = MemorySaveArgs

    async def _arun(
        self,
        text: str,
        type: SavedType,  # noqa: A002  # the argument's name for the model
        importance: int,
        tags: list[str],
        runtime: Any = None,
    ) -> dict[str, Any]:
        run, user_id = self.speaker(runtime)
        messages = self.heard(runtime)
        redacted = check_memory(text, messages, self.redactor, tags=tags)
        facts = statements(redacted)  # of the redacted text: what tells a number from another may stand beside it
        now, origin = datetime.now(UTC), provenance(messages, run, source=self.name)
        records = [
            MemoryRecord(
                text=fact,
                type=type,
                importance=importance,
                tags=tags,
                created_at=now,
                thread_id=run.thread_id,
                request_id=(state_of(runtime).get("request") or {}).get("request_id"),
                agent_id=run.context.agent_id,
                app_name=run.context.app_name,
                provenance=origin,
            )
            for fact in (facts if len(facts) > 1 else (text,))
        ]
        async with answered():
            first, *others = [_told(record) for record in await self.memories.save(user_id, records)]
        return {"saved": True, **first} | ({"also": others} if others else {})


def _told(record: MemoryRecord) -> dict[str, str]:
    """Return what the model is told of a memory that was saved."""
    return {"entry_id": str(record.entry_id), "text": record.text, "type": record.type}


def check_memory(
    text: str, messages: Sequence[BaseMessage], redactor: TextRedactor, *, tags: Sequence[str] = ()
) -> str:
    """Return `text` redacted, unless it must not be kept, said in the running turn of `messages`; a metric tells.

    Raises:
        SecretRefusedError: A password, key or token.
        CopiedFromToolError: Words of a tool's result that the user did not say, in the text or in a tag.
    """
    try:
        return _checked(text, messages, redactor, tags)
    except MemoryRefusedError as refusal:
        memories_refused.labels(refusal.code).inc()
        raise


def _checked(text: str, messages: Sequence[BaseMessage], redactor: TextRedactor, tags: Sequence[str]) -> str:
    redacted = redactor.redact(text)
    if written(SECRET) in redacted:
        raise SecretRefusedError
    start = turn_start(messages) or 0
    results = [str(m.text) for m in messages[start:] if isinstance(m, ToolMessage) and m.name not in MEMORY_TOOLS]
    said = _said_by_user(messages)
    if any(copied_from(each, results, said=said) for each in (text, *tags)):
        raise CopiedFromToolError
    return redacted


MEMORY_TOOLS = frozenset({"save_memory", "recall_memory", "update_memory", "forget_memory"})
"""Their results hold the user's own memories."""


def _said_by_user(messages: Sequence[BaseMessage]) -> list[str]:
    """Return what the user said in this thread, so that they may confirm later what they said before.

    A summary that LangChain's middleware writes as a user's message is none: it tells of tool results too.
    """
    own = (m for m in messages if isinstance(m, HumanMessage) and "lc_source" not in m.additional_kwargs)
    return [str(m.text) for m in own]
