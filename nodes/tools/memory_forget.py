"""The tool `forget_memory`: delete one memory of the user's, and what tells it."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from langchain_core.tools import ArgsSchema
from pydantic import Field, SkipValidation

from discreet.nodes.forgotten import tags_of_rounds, texts_of_rounds
from discreet.nodes.requests import request_id_of
from discreet.nodes.run import Run
from discreet.nodes.tools.memory_tool import HearingTool, MemoryToolArgs
from discreet.nodes.turn import turn_start
from discreet.ports import ForgetRequest, Forgotten, RollingSummaries
from discreet.redaction import untagged

MAX_LISTED = 10
"""Facts that a result names besides the one asked for: in the state it may have 1,000 characters."""


class MemoryForgetArgs(MemoryToolArgs):
    """What the model gives."""

    entry_id: UUID = Field(description="entry_id of the memory, as recall_memory returned it.")
    only: bool = Field(
        default=False,
        description="True if the user named this one part only of what they had said in one breath; "
        "else what was kept of the same statement goes too.",
    )


class MemoryForget(HearingTool):
    """Deletes for good; the memory of another user is never touched and answers like one that does not exist.

    With it go its former versions, what was kept of the same statement, and the turns and summaries that tell any of
    these. The rounds that do, and the one that asks for it, are in no prompt from the next turn on.
    """

    name: str = "forget_memory"
    description: str = (
        "Forget one memory of the user's for good, with everything that tells it. "
        "Use recall_memory first to find its entry_id. The result lists what went; do not repeat what it was about."
    )
    args_schema: ArgsSchema | None = MemoryForgetArgs
    summaries: SkipValidation[RollingSummaries | None] = Field(default=None, exclude=True, repr=False)
    """Where threads have their rolling summaries; those of threads that told it are deleted, to be made anew."""

    async def _arun(self, entry_id: UUID, only: bool = False, runtime: Any = None) -> dict[str, Any]:
        run, user_id = self.speaker(runtime)
        asking = await asyncio.to_thread(self._request, run, runtime)
        gone = await self.memories.forget(user_id, entry_id, only=only, asking=asking)
        if gone is None:
            return {"deleted": False, "entry_id": str(entry_id)}
        past = [record for record in (*gone.facts, *gone.told) if record.type == "conversation_summary"]
        summaries = len(past)
        if self.summaries is not None:
            threads = {thread_id for thread_id, _ in gone.rounds} | {record.thread_id for record in past}
            for thread_id in filter(None, threads):
                summaries += await self.summaries.forget(user_id, thread_id)
        return {
            "deleted": True,
            "entry_id": str(entry_id),
            "also": _listed(gone),
            "rounds": len(gone.rounds),
            "summaries": summaries,
        }

    def _request(self, run: Run, runtime: Any) -> ForgetRequest:
        messages = self.heard(runtime)
        start = turn_start(messages)
        if run.thread_id is None or start is None:
            return ForgetRequest()
        return ForgetRequest(
            thread_id=run.thread_id,
            request_id=request_id_of(run.user_id, run.thread_id, messages[start].id),
            asked=untagged(str(messages[start].text)),
            rounds=texts_of_rounds(run, messages),
            tags=tags_of_rounds(run, messages, self.redactor),
        )


def _listed(gone: Forgotten) -> list[dict[str, str]]:
    """Return the other facts that went. Their texts are not said once more."""
    return [{"entry_id": str(record.entry_id), "type": record.type} for record in gone.facts[1 : MAX_LISTED + 1]]
