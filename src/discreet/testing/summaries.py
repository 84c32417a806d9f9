"""Rolling summaries without a database."""

from __future__ import annotations

from discreet.ports import RollingSummary


class InMemoryRollingSummaries:
    """The port `RollingSummaries` in this process's memory.

    Example:
        >>> import asyncio
        >>> summaries = InMemoryRollingSummaries()
        >>> new = RollingSummary(text="They spoke about boats.", rounds=5, last_message_id="m10")
        >>> asyncio.run(summaries.commit("ann", "1", expected=RollingSummary(), new=new))
        True
        >>> asyncio.run(summaries.commit("ann", "1", expected=RollingSummary(), new=new))
        False
    """

    def __init__(self) -> None:
        self._summaries: dict[tuple[str | None, str], RollingSummary] = {}

    async def get(self, user_id: str | None, thread_id: str) -> RollingSummary:
        """Return the summary; an empty one if there is none."""
        return self._summaries.get((user_id, thread_id), RollingSummary())

    async def commit(
        self, user_id: str | None, thread_id: str, *, expected: RollingSummary, new: RollingSummary
    ) -> bool:
        """Put `new` in the place of `expected`; False if another one stands there."""
        current = await self.get(user_id, thread_id)
        if (current.rounds, current.last_message_id) != (expected.rounds, expected.last_message_id):
            return False
        self._summaries[user_id, thread_id] = new
        return True

    async def forget(self, user_id: str | None, thread_id: str) -> bool:
        """Delete the summary of a thread; False if there is none."""
        return self._summaries.pop((user_id, thread_id), None) is not None
