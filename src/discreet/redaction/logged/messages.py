"""Record classes that make their message otherwise than `logging` does, as `logging.setLogRecordFactory` may bring them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any

Restored = tuple[Callable[[dict[str, Any]], logging.LogRecord], tuple[dict[str, Any]]]


def makes_its_message(record: logging.LogRecord) -> bool:
    """Tell whether handlers get another message of `record` than `msg % args`."""
    return type(record).getMessage is not logging.LogRecord.getMessage


def stop_making(record: logging.LogRecord) -> None:
    """Have `record` say `msg % args` from now on. It stays one of its class; copies and pickles are plain records."""
    if makes_its_message(record):
        kind: Any = type(record)  # mypy takes the hash of its records for that of the class
        record.__class__ = _plain(kind)


@lru_cache(maxsize=16)
def _plain(kind: type[logging.LogRecord]) -> type[logging.LogRecord]:
    def reduced(self: logging.LogRecord, _protocol: object) -> Restored:
        return _restored, (vars(self),)

    return type(kind.__name__, (kind,), {"getMessage": logging.LogRecord.getMessage, "__reduce_ex__": reduced})


def _restored(values: dict[str, Any]) -> logging.LogRecord:
    record = logging.LogRecord.__new__(logging.LogRecord)
    vars(record).update(values)
    return record
