"""Keep a tool's results for the minutes in which a thread may need them again, and nowhere but in memory."""

from __future__ import annotations

from typing import Any

from discreet.nodes.run import describe_run
from discreet.transient import DEFAULT_SECONDS, TOOL, TransientState, default_transient_state


def put_tool_cache(
    key: str,
    value: object,
    ttl_seconds: float = DEFAULT_SECONDS[TOOL],
    *,
    any_ttl: bool = False,
    state: TransientState | None = None,
) -> bool:
    """Keep `value` as `tool.temp.<key>` of the running thread; False if that has no id: any other run could read it.

    For use inside tools.

    Args:
        key: A name of your own; other threads may use the same.
        value: Kept as it is, no copy.
        ttl_seconds: 600 to 1,800.
        any_ttl: Allow any other time.
        state: Default: the transient state of this process.

    Raises:
        TransientEntryError: The key is empty, or `ttl_seconds` is out of its range.
    """
    thread_id = describe_run().thread_id
    if thread_id is None:
        return False
    _or_default(state).set(thread_id, TOOL + key, value, ttl_seconds, any_ttl=any_ttl)
    return True


def get_tool_cache(key: str, default: Any = None, *, state: TransientState | None = None) -> Any:
    """Return what `put_tool_cache` kept in the running thread; `default` if there is nothing, or no longer."""
    thread_id = describe_run().thread_id
    if thread_id is None:
        return default
    return _or_default(state).get(thread_id, TOOL + key, default)


def _or_default(state: TransientState | None) -> TransientState:
    return default_transient_state() if state is None else state  # an empty one is false
