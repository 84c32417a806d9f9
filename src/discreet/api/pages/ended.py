"""Sessions that were signed out of: none of the processes of a server takes their cookies any more."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from discreet.api.pages.sessions import PageSession
from discreet.errors import ShortTermError
from discreet.ports import Round, ShortTermStore

logger = logging.getLogger(__name__)

OWNER = "discreet sessions"
"""Whose sessions they are in the short-term store, which keeps the last round of one for a day: longer than any lasts."""


class EndedSessions:
    """Tells the other processes by the short-term store. Where that is not there, each knows its own alone."""

    def __init__(self, short_term: ShortTermStore) -> None:
        """Keep them in `short_term`."""
        self._short_term = short_term

    async def add(self, session: PageSession) -> None:
        """Tell that `session` is over."""
        try:
            signed_out = Round(request_id="sign out", input_text="", output_text="", said_at=datetime.now(UTC))
            await self._short_term.append_round(OWNER, session.id, signed_out)
        except ShortTermError as error:
            logger.warning("pages.sign_out_not_shared cause=%s", type(error).__name__)

    async def has(self, session: PageSession) -> bool:
        """Whether a process has told that `session` is over. One round trip."""
        try:
            return bool(await self._short_term.recent_rounds(OWNER, session.id, limit=1))
        except ShortTermError as error:
            logger.warning("pages.sign_outs_not_known cause=%s", type(error).__name__)
            return False
