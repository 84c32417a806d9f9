"""What is told of an exception that leaves a graph, and what LangGraph logs of it: its class, and nothing that it says."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import Any, Final

from langgraph.errors import EmptyInputError as NoInputError
from langgraph.errors import GraphBubbleUp, GraphRecursionError

from discreet.errors import DiscreetError, EmptyInputError, RunFailedError

KEPT = (GraphRecursionError, GraphBubbleUp, TimeoutError, asyncio.CancelledError)
"""What callers and servers tell apart by its type."""

LOGGERS: Final = ("langgraph.pregel._retry", "langgraph.stream._types", "langgraph.stream.transformers")
"""Those that log an exception of a node or a transformer, with its message and traceback, at a retry for example."""

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


class ClassOnly(logging.Filter):
    """Takes the exception out of records, but for the name of its class. Drops no record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change `record` in place; let it pass."""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is not None:
            said, name = str(error), type(error).__name__
            told = record.getMessage().split(said)[0] if said else record.getMessage()
            record.msg, record.args = "%s cause=%s", (told.rstrip(), name)
            record.exc_info = record.exc_text = None
        return True


_FILTER: Final = ClassOnly()


def quieten() -> None:
    """Take what exceptions say out of LangGraph's logs in this process. Doing it again changes nothing."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
