"""The tool `save_memory`: keep what the user states, one memory a statement."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from langchain_core.tools import ArgsSchema
from pydantic import Field

from discreet.nodes.provenance import provenance
from discreet.nodes.tools.memory_check import NEVER, WritingTool
from discreet.nodes.tools.memory_tool import MemoryToolArgs, answered, state_of
from discreet.retrieval.clauses import statements
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord

SavedType = Literal["user_fact", "preference", "event", "conversation_insight", "important_moment"]


class MemorySaveArgs(MemoryToolArgs):
    """What the model gives."""

    text: str = Field(min_length=1, max_length=MAX_MEMORY_CHARS, description="One short sentence with one fact.")
    type: SavedType = Field(default="user_fact", description="What kind of memory it is.")
    importance: int = Field(default=5, ge=1, le=10, description="1 (trivial) to 10 (vital).")
    tags: list[str] = Field(default_factory=list, max_length=10, description="A few labels.")


class MemorySave(WritingTool):
    """Saves what the user says about themselves; refuses secrets and tool data with a sentence for the model.

    With a `secret_store` that takes them, a memory has a reference in the place of each secret.

    A text of several statements becomes a memory for each, with one request_id and time, so that each is found and changes
    by itself. The answer tells the first, and those that follow under `also`.
    """

    name: str = "save_memory"
    description: str = (
        "Keep one fact that the user said about themselves for later conversations; call it once for each fact. "
        + NEVER
    )
    args_schema: ArgsSchema | None = MemorySaveArgs

    async def _arun(
        self,
        text: str,
        type: SavedType,  # the argument's name for the model
        importance: int,
        tags: list[str],
        runtime: Any = None,
    ) -> dict[str, Any]:
        run, user_id = self.speaker(runtime)
        messages = self.heard(runtime)
        now, origin = datetime.now(UTC), provenance(messages, run, source=self.name)
        async with answered(), self.checked(text, messages, user_id, tags=tags) as kept:
            facts = statements(kept.redacted)  # what tells a number from another may stand beside it
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
                for fact in (facts if len(facts) > 1 else (kept.text,))
            ]
            stored = await self.saved(user_id, records)
            kept.stand_in(stored)
        first, *others = map(_told, stored)
        return {"saved": True, **first} | ({"also": others} if others else {})


def _told(record: MemoryRecord) -> dict[str, str]:
    """Return what the model is told of a memory that was saved."""
    return {"entry_id": str(record.entry_id), "text": record.text, "type": record.type}
