"""Redact one log record in place: what it says, what failed, and what was added to it."""

from __future__ import annotations

import copy
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

from discreet.redaction.logged.attributes import PLACES, SAID, STANDARD
from discreet.redaction.logged.kept import MOST_DIGITS
from discreet.redaction.logged.lines import LineRedactor, is_plain
from discreet.redaction.logged.messages import makes_its_message, stop_making
from discreet.redaction.logged.tracebacks import without_values
from discreet.redaction.placeholders import UNKNOWN, issue, uncounted
from discreet.redaction.walker import redact_object

INSTEAD: Final[Mapping[str, Mapping[str, Any]]] = {"msg": {"args": None}, "exc_text": {"exc_info": None}}
"""What else becomes of a record, by the attribute of it that could not be redacted."""

GLUED: Final = re.compile(r"\w%[-+ #0-9.]*[a-zA-Z]|(?<!%)%[-+ #0-9.]*[a-zA-Z]\w")
"""An argument that has a letter or a digit beside it in the text, where it does not look like itself: `%sms`."""

LETTERS: Final = re.compile(r"[^\W\d]+")

NUMBERS: Final = (int, float, bool, type(None))

_done: WeakKeyDictionary[logging.LogRecord, dict[str, Any]] = WeakKeyDictionary()
"""By record: what its attributes are since they were redacted. One that has changed since is redacted again. It does not stand
on the record, where structlog's ExtraAdder would write it into every line."""

_NOTHING: Final = object()


class RecordRedactor:
    """Redacts records. What `lines` logs itself while it redacts becomes `<UNKNOWN>`, since redacting it would not end."""

    def __init__(self, lines: LineRedactor) -> None:
        self._lines = lines
        self._running = threading.local()

    def redact(self, record: logging.LogRecord) -> None:
        """Redact `record` in place. What was redacted before and has not changed is left alone.

        Raises:
            TakesLong: As the lines' `within` says. What was redacted until then stays so.
        """
        done = _done.get(record, {})
        if all(name in PLACES or done.get(name, _NOTHING) is value for name, value in vars(record).items()):
            return
        inside = getattr(self._running, "now", False)
        self._running.now = True
        try:
            with uncounted():
                self._redact(record, done, given_up=inside)
        finally:
            self._running.now = inside
        _done[record] = {name: value for name, value in vars(record).items() if name not in PLACES}

    def snapshot(self, record: logging.LogRecord) -> dict[str, Any] | None:
        """Return what `record` says in a form that nobody changes any more; None if that takes redacting it."""
        said = {name: getattr(record, name) for name in SAID}
        msg, args = record.msg, record.args
        if isinstance(msg, str) and (not args or (isinstance(args, tuple) and is_plain(list(args)))):
            return {**said, "args": copy.deepcopy(args)}
        if type(msg) is dict and not args:
            event, error = dict(msg), msg.get("exc_info")
            event.pop("exc_info", None)
            if is_plain(event):
                return {**said, "msg": {**copy.deepcopy(event), **({"exc_info": _current(error)} if error else {})}}
        return None

    def _redact(self, record: logging.LogRecord, done: dict[str, Any], *, given_up: bool) -> None:
        self._rename(record, given_up=given_up)
        values = vars(record)

        def changed(*names: str) -> bool:
            return any(
                done.get(name, _NOTHING) is not (value := values.get(name)) and value is not None for name in names
            )

        redactions: dict[str, Callable[[logging.LogRecord], dict[str, Any]]] = {}
        if makes_its_message(record):
            redactions["msg"] = self._made_message
        elif changed("msg", "args") or record.msg is None:
            redactions["msg"] = self._message
        if changed("exc_info", "exc_text"):
            redactions["exc_text"] = self._exception
        for name in [each for each in values if each == "stack_info" or each not in STANDARD]:
            if changed(name):
                redactions[name] = partial(self._attribute, name)
        for name, redacted in redactions.items():
            try:
                new = _refused() if given_up else redacted(record)
            except Exception:  # noqa: BLE001  # what is logged may raise anything when it is written out, and logging must not
                new = {name: issue(UNKNOWN), **INSTEAD.get(name, {})}
            values.update(new)
            if name == "msg":
                stop_making(record)

    def _rename(self, record: logging.LogRecord, *, given_up: bool) -> None:
        """Redact the names of extra attributes, which formatters write out too; what has letters only names no value."""
        for name in [each for each in vars(record) if not LETTERS.fullmatch(str(each))]:
            try:
                redacted = issue(UNKNOWN) if given_up else self._lines.redact(str(name))
            except Exception:  # noqa: BLE001  # a foreign redactor may raise anything, and logging must not
                redacted = issue(UNKNOWN)
            if redacted != name:
                vars(record)[redacted] = vars(record).pop(name)

    def _made_message(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return what the message becomes that the record's class makes. A structlog event stays one."""
        if type(record.msg) is dict and not record.args:
            return self._message(record)
        return {"msg": self._lines.redact(record.getMessage()), "args": None}

    def _message(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return what message and arguments become. Arguments that still fit it are redacted ones, others are dropped."""
        msg, args = record.msg, record.args
        if type(msg) is dict and not args:
            return {"msg": self._event(msg), "args": None}
        if isinstance(msg, str) and isinstance(args, tuple) and GLUED.search(msg):
            args = record.args = tuple(self._lines.redact(each) if isinstance(each, str) else each for each in args)
        try:
            text = str(msg) % args if args else str(msg)
        except (TypeError, ValueError, KeyError):  # arguments that don't fit, which handlers would complain about
            return {"msg": self._lines.redact(f"{msg} {args}"), "args": None}
        whole = self._lines.redact(text)
        if not args:
            return {"msg": whole, "args": None}
        if (
            whole == text
            and isinstance(msg, str)
            and isinstance(args, tuple)
            and all(_shown(each, text) for each in args)
        ):
            return {}
        kept = tuple(map(self._argument, args)) if isinstance(args, tuple) else redact_object(args, self._lines)
        template = str(msg) if isinstance(msg, str) else redact_object(msg, self._lines)
        if not _fits(template, kept, whole) or self._names_something(template):
            return {"msg": whole, "args": None}
        return {"msg": template, "args": kept}

    def _argument(self, arg: Any) -> Any:
        return arg if _is_small(arg) else redact_object(arg, self._lines)

    def _event(self, event: dict[Any, Any]) -> dict[Any, Any]:
        """Return a structlog event redacted. Its exception stays one, for the processors that write it out."""
        error = event.get("exc_info")
        rest = self._lines.object(
            {name: each for name, each in event.items() if name != "exc_info"} if error else event
        )
        if error and (current := _current(error)):
            rest["exc_info"] = self._bare(current)
        redacted: dict[Any, Any] = rest
        return redacted

    def _names_something(self, template: Any) -> bool:
        """Tell whether a name in the template, which the text does not show, is a value."""
        return "%(" in str(template) and self._lines.redact(str(template)) != str(template)

    def _exception(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return what stands for the exception: one without values, for formatters that write it out, and its text."""
        if record.exc_info and record.exc_info[1] is not None:
            bare = self._bare(record.exc_info[1])
            return {"exc_info": bare, "exc_text": "".join(traceback.format_exception(bare[1])).rstrip("\n")}
        text = record.exc_text
        return {"exc_info": None, "exc_text": None if text is None else self._lines.redact(text)}

    def _bare(self, error: BaseException) -> tuple[type[BaseException], BaseException, Any]:
        bare = without_values(error, self._lines.redact)
        return type(bare), bare, bare.__traceback__

    def _attribute(self, name: str, record: logging.LogRecord) -> dict[str, Any]:
        value = vars(record)[name]
        if isinstance(value, logging.Logger):  # structlog's `wrap_for_formatter` puts it there for its formatter
            return {}
        return {name: self._lines.object(value, None if name in STANDARD else name)}


def _refused() -> NoReturn:
    """Stand in for redacting what the redactor logs while it redacts, which would not end."""
    raise RecursionError


def _current(error: Any) -> BaseException | None:
    """Return the exception that structlog's `exc_info` means."""
    if isinstance(error, BaseException):
        return error
    if isinstance(error, tuple):
        return error[1] if len(error) == 3 and isinstance(error[1], BaseException) else None  # as sys.exc_info
    return sys.exception()


def _shown(arg: Any, text: str) -> bool:
    """Tell whether a text shows all of an argument, so that nothing else has to be found in it; a rounded number tells enough."""
    return _is_small(arg) or ((type(arg) is str or type(arg) in NUMBERS) and str(arg) in text)


def _is_small(arg: Any) -> bool:
    """Tell whether a number has too few digits to be somebody's."""
    return type(arg) in (int, float) and abs(arg) < 10**MOST_DIGITS


def _fits(template: Any, args: Any, text: str) -> bool:
    """Tell whether handlers that format the message get `text`."""
    try:
        return (str(template) % args if args else str(template)) == text
    except (TypeError, ValueError, KeyError):  # a placeholder where a number was
        return False
