"""Write log records as lines of text or of JSON."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from discreet.redaction.logged.attributes import STANDARD

LogFormat = Literal["json", "text"]

TEXT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"

PAIR: Final = re.compile(r"(?P<name>[A-Za-z_]\w*)=%(?P<form>[-+0-9.]*[sdrfg])")
"""A field in the template of a message: `seconds=%.1f`."""

UNTOLD: Final = STANDARD | {"message", "taskName", "color_message", "_logger", "_name"}
"""Attributes that formatters and libraries leave on a record for themselves."""

OURS: Final = "discreet"


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON: `timestamp` (UTC, ISO 8601), `level`, `logger`, `event`, fields, `exception`.

    Fields are those of a structlog event, `extra` attributes, and in a message of Discreet's own the `name=%s` of its template.

    Example:
        >>> record = logging.makeLogRecord({"name": "discreet.worker", "msg": "batch.submitted requests=%d", "args": (3,)})
        >>> sorted(json.loads(JsonFormatter().format(record)).items())[0]
        ('event', 'batch.submitted')
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: dict[str, Any] = {name: value for name, value in vars(record).items() if name not in UNTOLD}
        if isinstance(record.msg, Mapping) and not record.args:
            fields |= record.msg
        else:
            fields |= {"event": record.getMessage(), **_named(record)}
        if error := fields.pop("exc_info", None) or record.exc_info:
            fields["exception"] = record.exc_text or (self.formatException(error) if isinstance(error, tuple) else None)
        elif record.exc_text:
            fields["exception"] = record.exc_text
        if record.stack_info:
            fields["stack"] = record.stack_info
        where = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        return json.dumps({**where, **fields, **where}, ensure_ascii=False, default=str)


def log_to_stderr(form: LogFormat | None, level: int = logging.INFO) -> None:
    """Have a process of our own log to standard error in `form`, text unless it says JSON. What is configured already stays."""
    logging.basicConfig(level=level, stream=sys.stderr, format=TEXT)
    log_in(form)


def log_in(form: LogFormat | None) -> None:
    """Have all handlers that write lines write them in JSON if `form` says so, whoever made them; else leave them."""
    if form != "json":
        return
    formatter = JsonFormatter()
    for handler in _handlers():
        if isinstance(handler, logging.StreamHandler):
            handler.setFormatter(formatter)


def _handlers() -> Iterator[logging.Handler]:
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            yield from logger.handlers


def _named(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a message of ours, and its event without them."""
    args = record.args
    template = record.msg
    if not isinstance(template, str) or not isinstance(args, tuple) or record.name.partition(".")[0] != OURS:
        return {}
    pairs = list(PAIR.finditer(template))
    if len(pairs) != len(args) or template.replace("%%", "").count("%") != len(args):
        return {}
    told = {pair["name"]: _rounded(pair["form"], arg) for pair, arg in zip(pairs, args, strict=True)}
    return {**told, "event": " ".join(PAIR.sub("", template).split())}


def _rounded(form: str, arg: Any) -> Any:
    """Return a number as precise as the message has it."""
    return float(f"%{form}" % arg) if form.endswith("f") and isinstance(arg, (int, float)) else arg
