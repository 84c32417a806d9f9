"""Which sessions are due, and why. Pure: from what the database says of them, so that no process has to remember anything."""

from __future__ import annotations

from datetime import timedelta

from discreet.state.background import PendingSession, Trigger
from discreet.state.memory_settings import Triggers


def due(session: PendingSession, triggers: Triggers) -> Trigger | None:
    """Return why the turns of a session are to be worked on now; None if they are to wait.

    Taking them makes the session wait for new ones, so that each trigger fires once.
    """
    if triggers.session_end and session.closed_at is not None:
        return "session_end"
    if triggers.compaction and session.compacted > 0:
        return "compaction"
    if triggers.message_count and session.rounds - session.taken_rounds >= triggers.message_count:
        return "message_count"
    if triggers.inactivity_minutes and session.now - session.ended_at >= timedelta(minutes=triggers.inactivity_minutes):
        return "inactivity"
    waits_since = max(session.pending_since, session.taken_at or session.pending_since)
    if triggers.interval_hours and session.now - waits_since >= timedelta(hours=triggers.interval_hours):
        return "interval"
    return None
