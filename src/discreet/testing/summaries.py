"""Rolling summaries in RAM."""

from __future__ import annotations

import threading
from dataclasses import replace

from discreet.ports import RollingSummary, TextRedactor, of_thread
from discreet.redaction import Redactor
from discreet.state.ids import check_user_id
from discreet.state.text import storable


class InMemoryRollingSummaries:
    """The port `RollingSummaries` without a database, thread-safe.

    Example:
        >>> import asyncio
        >>> summaries = InMemoryRollingSummaries()
        >>> first = RollingSummary(text="Ann keeps parrots.", rounds=5, last_message_id="a-5")
        >>> asyncio.run(summaries.commit("ann", "1", expected=RollingSummary(), new=first))
        True
        >>> asyncio.run(summaries.commit("ann", "1", expected=RollingSummary(), new=first))
        False
    """

    def __init__(self, *, redactor: TextRedactor | None = None) -> None:
        """Redact by `redactor` (default: the product's own)."""
        self._redactor = redactor or Redactor()
        self._kept: dict[tuple[str | None, str], RollingSummary] = {}
        self._lock = threading.Lock()

    async def get(self, user_id: str | None, thread_id: str) -> RollingSummary:
        """Return the summary of a thread; an empty one if there is none."""
        with self._lock:
            return self._kept.get(_key(user_id, thread_id), RollingSummary())

    async def commit(
        self, user_id: str | None, thread_id: str, *, expected: RollingSummary, new: RollingSummary
    ) -> bool:
        """Put `new`, redacted, in the place of `expected`; False if another cursor or last message stands there."""
        redacted = replace(new, text=storable(of_thread(self._redactor, thread_id).redact(new.text)))
        with self._lock:
            stands = self._kept.get(_key(user_id, thread_id), RollingSummary())
            if (stands.rounds, stands.last_message_id) != (expected.rounds, expected.last_message_id):
                return False
            self._kept[_key(user_id, thread_id)] = redacted
            return True

    async def forget(self, user_id: str | None, thread_id: str) -> bool:
        """Delete the summary of a thread; False if there is none."""
        with self._lock:
            return self._kept.pop(_key(user_id, thread_id), None) is not None


def _key(user_id: str | None, thread_id: str) -> tuple[str | None, str]:
    return None if user_id is None else check_user_id(user_id), thread_id
