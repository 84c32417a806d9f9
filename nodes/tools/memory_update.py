"""The tool `update_memory`: correct one memory of the user's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from langchain_core.tools import ArgsSchema
from pydantic import Field

from discreet.nodes.tools.memory_check import NEVER, Kept, WritingTool, forget_secrets
from discreet.nodes.tools.memory_tool import MemoryToolArgs, answered
from discreet.redaction.placeholders import referenced
from discreet.retrieval.dedup_resolution import CONSOLIDATED
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord


class MemoryUpdateArgs(MemoryToolArgs):
    """What the model gives."""

    entry_id: UUID = Field(description="entry_id of the memory, as recall_memory returned it.")
    text: str = Field(
        min_length=1, max_length=MAX_MEMORY_CHARS, description="The whole memory as it should read: one short sentence."
    )


class MemoryUpdate(WritingTool):
    """Puts another text in the place of a memory's; refuses what `save_memory` refuses.

    The wrong text is gone, not superseded: it never held. The memory keeps its id, its type and since when it holds, and
    counts as said now. That of another user answers like one that does not exist, and so does what was made of conversations.
    Secrets that the wrong text refers to and the right one does not are forgotten.
    """

    name: str = "update_memory"
    description: str = (
        "Correct one memory that the user says is wrong, or add to it what they said since. "
        "Use recall_memory first to find its entry_id. " + NEVER
    )
    args_schema: ArgsSchema | None = MemoryUpdateArgs

    async def _arun(self, entry_id: UUID, text: str, runtime: Any = None) -> dict[str, Any]:
        _run, user_id = self.speaker(runtime)
        async with answered(), self.checked(text, self.heard(runtime), user_id) as kept:
            return await self._updated(user_id, entry_id, kept)

    async def _updated(self, user_id: str, entry_id: UUID, kept: Kept) -> dict[str, Any]:
        wrong = await self.memories.get(user_id, entry_id)
        if wrong is None or wrong.type not in CONSOLIDATED:
            return {"updated": False, "entry_id": str(entry_id)}
        since = wrong.valid_from or wrong.created_at
        right = wrong.model_dump() | {"text": kept.text, "created_at": datetime.now(UTC), "valid_from": since}
        (stored,) = await self.saved(user_id, [MemoryRecord(**right)])
        kept.stand_in([stored])
        await forget_secrets(self.secret_store, user_id, referenced([wrong.text]) - referenced([stored.text]))
        return {"updated": True, "entry_id": str(entry_id), "text": stored.text, "type": stored.type}
