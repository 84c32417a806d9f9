"""Keep the rolling summary of the thread up to date."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

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
        """Hand the conversation on, if it has a thread. A turn that waits is in that of the next one, whatever becomes of it."""
        if turn.waits:
            return
        run = turn.run
        ended = turn.request["message_id"]
        left_out = None if self.forgotten is None else partial(self.forgotten.left_out, run, ended=ended)
        await self.summariser.after_turn(
            run.user_id, run.thread_id, turn.conversation, app_name=run.context.app_name, left_out=left_out
        )
