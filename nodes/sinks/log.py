"""Keep turns in the conversation log, and in its database as rounds of the running session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from discreet.nodes.sinks.filtered_turn import FilteredTurn
from discreet.nodes.sinks.rounds import round_of
from discreet.ports import ConversationLog, LogsRounds, ShortTermStore
from discreet.state.records import TurnRecord


@dataclass(frozen=True)
class LogSink:
    """Appends each turn to the log, and so to its session record."""

    log: ConversationLog
    name: str = "conversation_log"

    async def write(self, turn: FilteredTurn) -> None:
        """Append `turn`."""
        await self.log.append(record_of(turn))


@dataclass(frozen=True)
class LogRoundSink:
    """Does what `LogSink` and `RoundSink` do, in one round trip."""

    log: LogsRounds
    short_term: ShortTermStore
    name: str = "conversation_log"

    async def write(self, turn: FilteredTurn) -> None:
        """Append `turn`."""
        if (said := round_of(turn)) is None:
            await self.log.append(record_of(turn))
        else:
            await self.log.append_with_round(record_of(turn), said, self.short_term)


def record_of(turn: FilteredTurn) -> TurnRecord:
    """Return what the log has of a turn."""
    return TurnRecord(
        request_id=turn.request["request_id"],
        user_id=turn.run.user_id,
        thread_id=turn.thread_id,
        app_name=turn.run.context.app_name,
        agent_id=turn.run.context.agent_id,
        modality=turn.request["modality"],
        media=turn.request.get("media", []),
        input_text=turn.said,
        output_text=turn.answered,
        loop_flag=turn.looped,
        provenance=turn.provenance,
        **turn.annotation.model_dump(),
        started_at=datetime.fromisoformat(turn.request["started_at"]),
        ended_at=turn.ended_at,
        answer_id=turn.answer_id,
    )
