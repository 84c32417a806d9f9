"""Have the development server write its rows to disk all the time, so that what is there for a moment only is seen."""

from __future__ import annotations

FLUSH_SECONDS = 0.1


def flush_often() -> None:
    """Write every tenth of a second instead of every ten seconds. To be called in the server's process, after its start."""
    from langgraph_runtime_inmem import _persistence, database  # the server's own, elsewhere not there

    _persistence.stop_flush_loop()
    _persistence._flush_interval = FLUSH_SECONDS
    _persistence.register_persistent_dict(database.GLOBAL_STORE)
