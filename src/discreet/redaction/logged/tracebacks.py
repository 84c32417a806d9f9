"""Tracebacks without values: where something failed is program text, what the exception says is not."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Generator
from functools import lru_cache
from types import FrameType, FunctionType, GeneratorType, TracebackType
from typing import Final, cast

from discreet.redaction.normalized_text import Span
from discreet.redaction.placeholders import UNKNOWN, issue

MOST_CHAINED = 50
"""Exceptions of one chain or group that are told; what lies deeper was made by a loop."""

FRAME: Final = re.compile(
    r"(?P<head>^[ |]*File \"(?P<file>[^\"\n]{1,1000})\", line (?P<line>[0-9]{1,7}), in (?P<name>[\w.<>]{1,200}))(?=\n|\Z)"
    r"(?P<code>\n(?![ |]*File \")[ |]*(?P<said>\S[^\n]*)(?:\n[ |]*[~^][~^ ]*(?=\n|\Z))?)?",
    re.MULTILINE,
)
"""One frame as `traceback` writes it, with its line of code and the marks beneath."""


def frame_spans(text: str) -> list[Span]:
    """Return the spans of a text that are frames of code that this process has loaded: file, line, function, line of code.

    The line of code counts only if the file says the same there; so nobody's words pass for one.
    """
    if ", line " not in text or 'File "' not in text:
        return []
    loaded = _loaded(len(sys.modules))
    spans: list[Span] = []
    for match in FRAME.finditer(text):
        if match["file"] in loaded:
            code = linecache.getline(match["file"], int(match["line"])).strip()
            spans.append(match.span() if code and code == (match["said"] or "").strip() else match.span("head"))
    return spans


@lru_cache(maxsize=1)
def _loaded(_modules: int) -> frozenset[str]:
    return frozenset(filter(None, (getattr(each, "__file__", None) for each in list(sys.modules.values()))))


def without_values(error: BaseException, redact: Callable[[str], str]) -> BaseException:
    """Return an exception that is written out like `error`, with its traceback, causes and notes, and holds no value.

    Its class has the name of the other and is another; its message and notes went through `redact`; its frames have no
    variables, so nothing that looks into them finds any.
    """
    return _Copies(redact).of(error)


class _Copies:
    """Copies a chain of exceptions, each once."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._copied: dict[int, BaseException] = {}

    def of(self, error: BaseException) -> BaseException:
        copy = self._copied[id(error)] = self._empty(error)
        if notes := getattr(error, "__notes__", None):
            copy.__notes__ = [self._said(each) for each in notes]
        copy.__cause__, copy.__context__ = self._other(error.__cause__), self._other(error.__context__)
        copy.__suppress_context__ = error.__suppress_context__
        return copy.with_traceback(self._bare(error.__traceback__))

    def _other(self, error: BaseException | None) -> BaseException | None:
        if error is None or id(error) in self._copied:
            return self._copied.get(id(error))
        return self.of(error) if len(self._copied) < MOST_CHAINED else None

    def _empty(self, error: BaseException) -> BaseException:
        kind = type(error)
        said = self._said(error)
        names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__str__": lambda _self: said}
        if isinstance(error, BaseExceptionGroup):
            group = type(kind.__name__, (BaseExceptionGroup,), names)
            parts = [copy for each in error.exceptions if (copy := self._other(each)) is not None]
            if parts:
                return cast("BaseException", group("", parts))
        return cast("BaseException", type(kind.__name__, (Exception,), names)())

    def _said(self, told: object) -> str:
        try:
            return self._redact(str(told))
        except Exception:  # noqa: BLE001  # what an exception says may raise anything when it is written out
            return issue(UNKNOWN)

    def _bare(self, trace: TracebackType | None) -> TracebackType | None:
        """Return a traceback through the same places whose frames hold nothing."""
        loaded = _loaded(len(sys.modules))
        places: list[tuple[FrameType, int]] = []
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename  # of code that was compiled from a text, whatever its caller says
            places.append((_frame(trace.tb_frame, file if file in loaded else self._said(file)), trace.tb_lineno))
            trace = trace.tb_next
        bare: TracebackType | None = None
        for frame, line in reversed(places):
            bare = TracebackType(bare, frame, -1, line)
        return bare


def _frame(of: FrameType, file: str) -> FrameType:
    """Return a frame in `file` that has the names of another, no variables and no caller: that of a generator that never ran."""
    code, module = of.f_code, of.f_globals.get("__name__")
    named = _nothing.__code__.replace(co_filename=file, co_name=code.co_name, co_qualname=code.co_qualname)
    empty: GeneratorType[None] = FunctionType(named, {"__name__": module})()
    frame = empty.gi_frame
    assert frame is not None  # it has not run
    return frame


def _nothing() -> Generator[None]:
    yield
