"""Redact what a process logs, whatever its loggers and handlers."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Self
from weakref import WeakKeyDictionary

from discreet.ports import TextRedactor
from discreet.redaction.configured import default_redactor
from discreet.redaction.placeholders import UNKNOWN, issue
from discreet.redaction.walker import redact_object

STANDARD = frozenset({*vars(logging.makeLogRecord({})), "asctime"})
"""Attributes that every record has. Those that hold text of callers are treated one by one; the rest says where and when."""

_done: WeakKeyDictionary[logging.LogRecord, dict[str, Any]] = WeakKeyDictionary()
"""By record: what its attributes are since they were redacted. One that has changed since is redacted again. It does not stand
on the record, where structlog's ExtraAdder would write it into every line."""

SOURCES = {"msg": ("msg", "args"), "exc_text": ("exc_text", "exc_info")}
"""What an attribute is made from, where that is more than itself."""


class RedactingFilter(logging.Filter):
    """Redacts each record that passes: message with its arguments, exception, stack and extra attributes.

    The traceback becomes text, notes and causes included. Arguments stay, redacted, where message and arguments give the
    redacted text (formatters of servers read them); else they are dropped. Of extra attributes, what is no text, number
    or container of such becomes `<UNKNOWN>`. Never raises and drops no record: what can't be redacted becomes `<UNKNOWN>`,
    and so does what is logged by `redactor` itself. A record that passes again costs nothing.

    A filter of a logger sees that logger's own records only, so put it on handlers, or call `redact_logs` for all.

    Example:
        >>> record = logging.makeLogRecord({"msg": "mail to %s", "args": ("ann@example.com",)})
        >>> RedactingFilter().filter(record), record.getMessage()
        (True, 'mail to <EMAIL>')
    """

    def __init__(self, redactor: TextRedactor | None = None) -> None:
        super().__init__()
        self._redactor: TextRedactor = redactor or default_redactor()
        self._running = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact `record` in place; let it pass."""
        inside = getattr(self._running, "now", False)
        self._running.now = True
        try:
            self._redact(record, given_up=inside)
        finally:
            self._running.now = inside
        return True

    def _redact(self, record: logging.LogRecord, *, given_up: bool) -> None:
        done = _done.get(record, {})
        self._rename(record, given_up=given_up)
        redactions = {
            "msg": self._message,
            "exc_text": self._exception,
            "stack_info": self._stack,
            **{name: self._extra(name) for name in vars(record) if name not in STANDARD},
        }
        for name, redacted in redactions.items():
            values = {each: vars(record).get(each) for each in SOURCES.get(name, (name,))}
            if name != "msg" and all(value is None for value in values.values()):
                continue
            if not all(each in done and value is done[each] for each, value in values.items()):
                self._replace(record, name, _refused if given_up else redacted)
        _done[record] = {name: vars(record).get(name) for name in (*redactions, "args", "exc_info")}

    def _rename(self, record: logging.LogRecord, *, given_up: bool) -> None:
        """Redact the names of extra attributes, which formatters write out too; what programs are written in names no value."""
        for name in [each for each in vars(record) if not str(each).isidentifier()]:
            try:
                redacted = issue(UNKNOWN) if given_up else self._redactor.redact(str(name))
            except Exception:  # noqa: BLE001 - a foreign redactor may raise anything, and logging must not
                redacted = issue(UNKNOWN)
            if redacted != name:
                vars(record)[redacted] = vars(record).pop(name)

    def _replace(self, record: logging.LogRecord, name: str, redacted: Callable[[logging.LogRecord], Any]) -> None:
        try:
            value = redacted(record)
        except Exception:  # noqa: BLE001 - what is logged may raise anything when it is written out, and logging must not
            value = issue(UNKNOWN)
            if name == "msg":
                record.args = None
        setattr(record, name, value)
        if name == "exc_text":
            record.exc_info = None

    def _message(self, record: logging.LogRecord) -> Any:
        """Return what `msg` becomes. Arguments that still fit it then are replaced by redacted ones, others dropped."""
        msg, args = record.msg, record.args
        record.args = None
        try:
            text = str(msg) % args if args else str(msg)
        except (TypeError, ValueError, KeyError):  # arguments that don't fit, which handlers would complain about
            return self._redactor.redact(f"{msg} {args}")
        whole = self._redactor.redact(text)
        kept = redact_object(args, self._redactor) if args else None
        if isinstance(msg, str) and not args:
            return whole
        template = str(msg) if isinstance(msg, str) else redact_object(msg, self._redactor)
        if not _fits(template, kept, whole) or self._names_something(template):
            return whole
        record.args = kept
        return template

    def _names_something(self, template: Any) -> bool:
        """Tell whether a name in the template, which the text does not show, is a value."""
        return "%(" in str(template) and self._redactor.redact(str(template)) != str(template)

    def _exception(self, record: logging.LogRecord) -> str | None:
        if record.exc_info and record.exc_info[1] is not None:
            return self._redactor.redact("".join(traceback.format_exception(record.exc_info[1])).rstrip("\n"))
        return _each(record.exc_text, self._redactor.redact)

    def _stack(self, record: logging.LogRecord) -> str | None:
        return _each(record.stack_info, self._redactor.redact)

    def _extra(self, name: str) -> Callable[[logging.LogRecord], Any]:
        return lambda record: redact_object(getattr(record, name), self._redactor)


class LogRedaction:
    """What `redact_logs` has put in place. `undo` takes it away again, and so does the end of a `with` block."""

    def __init__(self, redactor: TextRedactor | None = None) -> None:
        self._filter = RedactingFilter(redactor)
        self._previous = logging.getLogRecordFactory()
        self._filtered: list[logging.Filterer] = []
        self._active = True
        for logger in _loggers():
            for each in (logger, *logger.handlers):
                self._cover(each)
        logging.setLogRecordFactory(self._make)

    def undo(self) -> None:
        """Take away the filters and the factory. A factory that was put over it since stays and passes records on as they are."""
        self._active = False
        if logging.getLogRecordFactory() == self._make:
            logging.setLogRecordFactory(self._previous)
        for each in self._filtered:
            each.removeFilter(self._filter)
        self._filtered.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.undo()

    def _make(self, name: str, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._previous(name, *args, **kwargs)
        if self._active:
            self._filter.filter(record)
            logger = logging.root.manager.loggerDict.get(name)
            if isinstance(logger, logging.Logger):  # it may be new, and `extra` comes into the record after this
                self._cover(logger)
        return record

    def _cover(self, each: logging.Filterer) -> None:
        if self._filter not in each.filters:
            each.addFilter(self._filter)
            self._filtered.append(each)


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


def _loggers() -> Iterator[logging.Logger]:
    yield logging.root
    yield from (each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger))


def _fits(template: Any, args: Any, text: str) -> bool:
    """Tell whether handlers that format the message get `text`."""
    try:
        return (str(template) % args if args else str(template)) == text
    except (TypeError, ValueError, KeyError):  # a placeholder where a number was
        return False


def _refused(_record: logging.LogRecord) -> NoReturn:
    """Stand in for redacting what the redactor logs while it redacts, which would not end."""
    raise RecursionError


def _each(text: str | None, redact: Callable[[str], str]) -> str | None:
    return None if text is None else redact(text)
