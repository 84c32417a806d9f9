"""Keep turns as rounds of the running session."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.nodes.sinks.filtered_turn import FilteredTurn
from discreet.ports import Round, ShortTermStore


@dataclass(frozen=True)
class RoundSink:
    """Appends each answered turn of a known user to their session, for a day; one that waits once it goes on."""

    short_term: ShortTermStore
    name: str = "session"

    async def write(self, turn: FilteredTurn) -> None:
        """Append `turn`."""
        if (said := round_of(turn)) is not None and turn.run.user_id is not None:
            await self.short_term.append_round(turn.run.user_id, turn.thread_id, said)


def round_of(turn: FilteredTurn) -> Round | None:
    """Return the round that a turn is; None while it waits, without an answer, and of nobody."""
    if turn.run.user_id is None or not turn.answered or turn.waits:
        return None
    return Round(
        request_id=turn.request["request_id"],
        input_text=turn.said,
        output_text=turn.answered,
        said_at=turn.ended_at,
        is_emergency=turn.annotation.is_emergency,
    )
