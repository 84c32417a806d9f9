"""Keep turns as memories: what was said word for word, for search across threads."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.nodes.sinks.filtered_turn import FilteredTurn
from discreet.ports import Memories
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord


@dataclass(frozen=True)
class TurnSink:
    """Saves what the user said and what was answered as two memories of type `turn`, at their places in the thread."""

    memories: Memories
    name: str = "turns"

    async def write(self, turn: FilteredTurn) -> None:
        """Save `turn`, if its user is known and did not have something forgotten in it."""
        user_id, request_id = turn.run.user_id, turn.request["request_id"]
        if user_id is None or request_id in await self.memories.forgotten(user_id, turn.thread_id):
            return
        texts = [("User", turn.said), ("Assistant", turn.answered)]
        records = [
            MemoryRecord(
                type="turn",
                text=f"{speaker}: {text}"[:MAX_MEMORY_CHARS],
                thread_id=turn.thread_id,
                position=turn.position + offset,
                request_id=request_id,
                app_name=turn.run.context.app_name,
                agent_id=turn.run.context.agent_id,
                created_at=turn.ended_at,
                loop_flag=turn.looped,
                provenance=turn.provenance,
            )
            for offset, (speaker, text) in enumerate(texts)
            if text.strip()
        ]
        await self.memories.save(user_id, records)
