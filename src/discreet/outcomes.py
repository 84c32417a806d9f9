"""What the last call of a part came to: news for a health check that costs nothing."""

from __future__ import annotations

import time
from typing import Final

RECENT_SECONDS: Final = 300.0
"""A failure is no news after that: perhaps nobody has called since."""


class LastOutcome:
    """Whether the last call of a part of this process failed."""

    def __init__(self) -> None:
        self._failed_at: float | None = None

    def worked(self) -> None:
        """Note that a call succeeded."""
        self._failed_at = None

    def failed(self) -> None:
        """Note that a call failed."""
        self._failed_at = time.monotonic()

    @property
    def is_down(self) -> bool:
        """Whether the last call failed, within the last five minutes."""
        return self._failed_at is not None and time.monotonic() - self._failed_at < RECENT_SECONDS


embedding: Final = LastOutcome()
"""Of the embedding models of this process."""
