"""Redact what a process logs, whatever its loggers and handlers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, Self
from weakref import WeakKeyDictionary

from discreet.ports import TextRedactor
from discreet.redaction.configured import default_redactor
from discreet.redaction.logged.attributes import SAID
from discreet.redaction.logged.later import Later
from discreet.redaction.logged.lines import LineRedactor, TakesLong
from discreet.redaction.logged.records import RecordRedactor
from discreet.redaction.placeholders import OVERSIZE, UNKNOWN, written

SEARCHED_AT_ONCE = 500
"""Characters that a line may have which were not seen before, and still be redacted where an event loop runs: 0.5 ms or so."""


class RedactingFilter(logging.Filter):
    """Redacts each record that passes: message with its arguments, exception, stack and extra attributes.

    Time stamps, ids and durations stay (`discreet.redaction.logged.kept`), and so does where an exception was raised: file,
    line, function and line of code. Arguments stay, redacted, where message and arguments give the redacted text
    (formatters of servers read them); else they are dropped. Of extra attributes, what is no text, number
    or container of such becomes `<UNKNOWN>`. Never raises and drops no record: what can't be redacted becomes `<UNKNOWN>`,
    and so does what is logged by `redactor` itself. A record that passes again costs nothing. Nothing of it is counted.

    A filter of a logger sees that logger's own records only, so put it on handlers, or call `redact_logs` for all.

    Example:
        >>> record = logging.makeLogRecord({"msg": "mail to %s", "args": ("ann@example.com",)})
        >>> RedactingFilter().filter(record), record.getMessage()
        (True, 'mail to <EMAIL>')
    """

    def __init__(self, redactor: TextRedactor | None = None) -> None:
        super().__init__()
        self.lines = LineRedactor(redactor or default_redactor())
        self.records = RecordRedactor(self.lines)

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact `record` in place; let it pass."""
        self.records.redact(record)
        return True


class LogRedaction(logging.Filter):
    """What `redact_logs` has put in place. `undo` takes it away again, and so does the end of a `with` block.

    It is the filter of the loggers. A record that takes long to redact, logged where an event loop runs, goes on in
    another thread, and those that come after it wait behind it, so that lines keep their order.
    """

    def __init__(self, redactor: TextRedactor | None = None) -> None:
        super().__init__()
        self._of_handlers = RedactingFilter(redactor)
        self._lines, self._records = self._of_handlers.lines, self._of_handlers.records
        self._later = Later(self._prepare)
        self._aside: WeakKeyDictionary[logging.LogRecord, dict[str, Any]] = WeakKeyDictionary()
        """By record: what it says, where that is not redacted yet. The record says `<UNKNOWN>` meanwhile."""
        self._previous = logging.getLogRecordFactory()
        self._filtered: list[tuple[logging.Filterer, logging.Filter]] = []
        self._active = True
        for logger in _loggers():
            self._cover(logger, self)
            for handler in logger.handlers:
                self._cover(handler, self._of_handlers)
        logging.setLogRecordFactory(self._make)

    def undo(self) -> None:
        """Take away the filters and the factory. A factory that was put over it since stays and passes records on as they are."""
        self._later.flush()
        self._active = False
        if logging.getLogRecordFactory() == self._make:
            logging.setLogRecordFactory(self._previous)
        for each, put in self._filtered:
            each.removeFilter(put)
        self._filtered.clear()

    def flush(self) -> None:
        """Wait for the lines that are redacted in another thread, some seconds at most."""
        self._later.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.undo()

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact a record that its logger is about to handle; False if it is to go on later."""
        if self._later.is_handing_on or not self._active:
            self._records.redact(record)
            return True
        is_redacted = record not in self._aside and self._at_once(record)
        if is_redacted and not self._later.is_busy:
            return True
        logger = _logger_named(record.name)
        if logger is None:  # nothing that another thread could hand it to
            self._prepare(record)
            return True
        if not is_redacted and self._later.is_full:
            self._aside.pop(record, None)
            record.msg, record.args = written(OVERSIZE), None
        self._later.add(logger, record)
        return False

    def _make(self, name: str, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._previous(name, *args, **kwargs)
        if self._active:
            logger = _logger_named(name)
            if logger is not None:  # it may be new, and `extra` comes into the record after this
                self._cover(logger, self)
            if not self._at_once(record):
                self._put_aside(record)
        return record

    def _at_once(self, record: logging.LogRecord) -> bool:
        """Redact a record if that is done at once, or if nobody else could wait for it; tell whether it is redacted."""
        if self._later.is_handing_on or asyncio._get_running_loop() is None:  # noqa: SLF001  # the public one raises, which costs as much as the rest
            self._records.redact(record)
            return True
        if record.exc_info:
            return False  # the lines of its traceback are read from files
        try:
            with self._lines.within(SEARCHED_AT_ONCE):
                self._records.redact(record)
        except TakesLong:
            return False
        return True

    def _put_aside(self, record: logging.LogRecord) -> None:
        said = self._records.snapshot(record)
        if said is None:
            self._records.redact(record)
            return
        self._aside[record] = said
        vars(record).update(dict.fromkeys(SAID), msg=written(UNKNOWN))

    def _prepare(self, record: logging.LogRecord) -> None:
        vars(record).update(self._aside.pop(record, {}))
        self._records.redact(record)

    def _cover(self, each: logging.Filterer, put: logging.Filter) -> None:
        if put not in each.filters:
            # A logger's goes first, since a line that it puts off passes the others later; a handler's sees what they add.
            each.filters.insert(0 if isinstance(each, logging.Logger) else len(each.filters), put)
            self._filtered.append((each, put))


def redact_logs(redactor: TextRedactor | None = None) -> LogRedaction:
    """Redact all that this process logs from now on, whatever logger and handler it goes through; undo it with the result.

    `redactor` is the one that the settings describe, unless another is given.

    Call it once, after logging is configured. Records are redacted as they are made, also those of loggers that don't
    propagate, and of warnings under `logging.captureWarnings`; what `extra` adds is redacted by a filter on each logger. Only
    attributes that a filter adds on a handler made later are not seen.

    Example:
        >>> with redact_logs():
        ...     logging.getLogger("doc").warning("mail to %s", "ann@example.com")
    """
    return LogRedaction(redactor)


def _logger_named(name: str) -> logging.Logger | None:
    if name == logging.root.name:
        return logging.root
    found = logging.root.manager.loggerDict.get(name)
    return found if isinstance(found, logging.Logger) else None


def _loggers() -> Iterator[logging.Logger]:
    yield logging.root
    yield from (each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger))
