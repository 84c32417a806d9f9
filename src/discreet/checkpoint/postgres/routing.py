"""Name the thread in every relation that LangGraph's query reads, so that a cluster sends it to the one node that has it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_OF_ROW = "checkpoints.thread_id"
OF_THREAD = "WHERE thread_id = %s"
"""How LangGraph's queries for one thread go on after the columns, with the thread as their first parameter."""


def route(query: str, params: Any) -> tuple[str, Any]:
    """Return `query` and `params` with the thread in the place of the column, if the query is for one thread.

    Example:
        >>> route("SELECT (SELECT 1 FROM b WHERE b.thread_id = checkpoints.thread_id) FROM a WHERE thread_id = %s", ["t"])
        ('SELECT (SELECT 1 FROM b WHERE b.thread_id = %s) FROM a WHERE thread_id = %s', ['t', 't'])
    """
    if not isinstance(params, Sequence) or isinstance(params, (str, bytes)):
        return query, params
    routed, times = _routed(query)
    return routed, [*[params[0]] * times, *params] if times else params


@lru_cache(maxsize=64)
def _routed(query: str) -> tuple[str, int]:
    columns, found, conditions = query.partition(OF_THREAD)
    times = columns.count(_OF_ROW) if found and "%s" not in columns else 0
    return (columns.replace(_OF_ROW, "%s") + found + conditions, times) if times else (query, 0)
