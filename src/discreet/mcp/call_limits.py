"""Let a user call tools so often and no more."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from discreet.errors import CallLimitError

MAX_REMEMBERED: Final = 10_000
"""Users whose calls are counted; beyond that the one who has not called for the longest time begins anew."""


class CallLimits:
    """A token bucket for each user: full at first, filled evenly, and a call takes one. This process counts for itself.

    Example:
        >>> limits = CallLimits(60)
        >>> limits.take("ann")
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Let everybody have `per_minute` calls at once, and as many in each minute after; `clock` gives seconds."""
        self._most = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, user_id: str) -> None:
        """Count a call of `user_id`.

        Raises:
            CallLimitError: They have none left. It says when there is one again.
        """
        now = self._clock()
        left, counted = self._left.pop(user_id, (self._most, now))
        left = min(self._most, left + (now - counted) * self._per_second)
        self._left[user_id] = (left - 1, now) if left >= 1 else (left, now)
        if len(self._left) > MAX_REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            raise CallLimitError((1 - left) / self._per_second)
