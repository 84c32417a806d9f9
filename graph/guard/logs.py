"""What LangGraph itself logs of the errors of nodes: their class, and nothing that they say."""

from __future__ import annotations

import logging
from typing import Final

LOGGERS: Final = ("langgraph.pregel._retry", "langgraph.stream._types", "langgraph.stream.transformers")
"""Those that log an exception of a node or a transformer, with its message and traceback, at a retry for example."""


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
