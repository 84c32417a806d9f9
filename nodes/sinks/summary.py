"""Keep the rolling summary of the thread up to date."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.nodes.forgotten import ForgottenRounds
from discreet.nodes.rolling_summary import RollingSummariser
from discreet.nodes.sinks.filtered_turn import FilteredTurn


@dataclass(frozen=True)
class SummarySink:
    """Hands each conversation on, without what was forgotten, to be summarised beside the turns."""

    summariser: RollingSummariser
    forgotten: ForgottenRounds | None = None
    name: str = "rolling_summary"

    async def write(self, turn: FilteredTurn) -> None:
        """Hand the conversation on, if it has a thread."""
        run = turn.run
        conversation = turn.conversation
        if self.forgotten is not None:
            conversation = await self.forgotten.left_out(run, conversation, ended=True)
        await self.summariser.after_turn(run.user_id, run.thread_id, conversation, app_name=run.context.app_name)
