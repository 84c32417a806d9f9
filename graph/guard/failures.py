"""What is told of an exception that leaves a graph."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from langgraph.errors import EmptyInputError as NoInputError
from langgraph.errors import GraphBubbleUp, GraphRecursionError

from discreet.errors import DiscreetError, EmptyInputError, RunFailedError

KEPT = (GraphRecursionError, GraphBubbleUp, TimeoutError, asyncio.CancelledError)
"""What callers and servers tell apart by its type."""

SERVER = "langgraph_api.worker_runtime"
"""Names what the server tries again, in `ALL_RETRIABLE_EXCEPTIONS`. It is there if the server runs us."""


def told(error: BaseException, redact: Callable[[Any], Any]) -> BaseException:
    """Return a new exception in the place of `error`, to be raised outside of the `except` block.

    Errors of Discreet's own keep type, message and attributes, which hold no user text. What the engine and servers go by
    keeps its type, with redacted arguments. All else becomes a `RunFailedError` that names the class. None has a traceback,
    a cause, a context, or notes: handlers print them, the frames' variables included.
    """
    try:
        if isinstance(error, DiscreetError):
            return _copy(error, error.args, vars(error))
        if isinstance(error, NoInputError):
            return EmptyInputError("Nothing came in, and nothing waits in this thread. Send what the graph takes.")
        if isinstance(error, (*KEPT, *_retried())) or not isinstance(error, Exception):
            return _copy(error, tuple(redact(each) for each in error.args), {})
    except Exception:  # noqa: BLE001, S110  # fails closed: a class of somebody else's may refuse to be made again
        pass
    return RunFailedError(type(error).__name__)


def _copy(error: BaseException, args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    """Return another of the same type; `__init__` may want arguments that nobody knows, so it is not called."""
    kind = type(error)
    copy = kind.__new__(kind, *args)
    copy.args = args
    for name, value in attributes.items():
        if name != "__notes__":
            setattr(copy, name, value)
    return copy


def _retried() -> tuple[type[BaseException], ...]:
    return tuple(getattr(sys.modules.get(SERVER), "ALL_RETRIABLE_EXCEPTIONS", ()))
