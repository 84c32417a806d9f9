"""The tool `forget_memory`: delete one memory of the user's."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.tools import ArgsSchema
from pydantic import Field

from discreet.nodes.tools.memory_tool import MemoryTool, MemoryToolArgs


class MemoryForgetArgs(MemoryToolArgs):
    """What the model gives."""

    entry_id: UUID = Field(description="entry_id of the memory, as recall_memory returned it.")


class MemoryForget(MemoryTool):
    """Deletes for good; the memory of another user is never touched and answers like one that does not exist."""

    name: str = "forget_memory"
    description: str = "Delete one memory of the user's for good. Use recall_memory first to find its entry_id."
    args_schema: ArgsSchema | None = MemoryForgetArgs

    async def _arun(self, entry_id: UUID, runtime: Any = None) -> dict[str, Any]:
        _run, user_id = self.speaker(runtime)
        deleted = await self.memories.delete(user_id, entry_id)
        return {"deleted": deleted, "entry_id": str(entry_id)}
