"""Keep the rolling summary of the thread up to date."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.nodes.keepers.filtered_turn import FilteredTurn
from discreet.nodes.rolling_summary import RollingSummariser


@dataclass(frozen=True)
class SummaryKeeper:
    """Hands each conversation on, to be summarised beside the turns."""

    summariser: RollingSummariser
    name: str = "rolling_summary"

    async def keep(self, turn: FilteredTurn) -> None:
        """Hand the conversation on, if it has a thread."""
        run = turn.run
        await self.summariser.after_turn(run.user_id, run.thread_id, turn.conversation, app_name=run.context.app_name)
