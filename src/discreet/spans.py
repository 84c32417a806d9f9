"""OpenTelemetry spans: what ran, when, for how long, under which ids and with how many of what. Never a text.

They go to whatever tracer provider the process has. Without one nothing happens.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, Final
from uuid import UUID

from langgraph.errors import GraphBubbleUp
from opentelemetry import context, trace
from opentelemetry.trace import Span, Status, StatusCode

NAMESPACE: Final = "discreet"
WORD: Final = re.compile("[a-z][a-z_]{0,39}")
"""Names that the code gives: of nodes, states, triggers. Whatever else is a string may be somebody's."""

NO_FAILURES: Final = (GraphBubbleUp, asyncio.CancelledError, GeneratorExit)
"""A turn that pauses, is cancelled, or that nobody reads on."""


class Noted:
    """A span under way."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def note(self, **attributes: float | str | UUID | None) -> None:
        """Add ids, counts and words. A string that is neither a UUID nor a word of the code is left out."""
        if not self._span.is_recording():
            return
        for name, value in attributes.items():
            if (told := _told(value)) is not None:
                self._span.set_attribute(f"{NAMESPACE}.{name}", told)

    def failed(self, error: BaseException) -> None:
        """Say which class of error it was, and nothing that it says."""
        if not isinstance(error, NO_FAILURES):
            self._span.set_attribute("error.type", type(error).__name__)
            self._span.set_status(Status(StatusCode.ERROR))


@contextmanager
def span(name: str, **attributes: float | str | UUID | None) -> Iterator[Noted]:
    """Have a span around the block, under the one that is current.

    Args:
        name: Of the operation, such as `memory.search`; the span is called `discreet.memory.search`.
        attributes: See `Noted.note`.
    """
    tracer = trace.get_tracer(NAMESPACE)
    # What an exception says may be a user's: it is not recorded.
    with tracer.start_as_current_span(
        f"{NAMESPACE}.{name}", record_exception=False, set_status_on_exception=False
    ) as current:
        noted = Noted(current)
        noted.note(**attributes)
        try:
            yield noted
        except BaseException as error:
            noted.failed(error)
            raise


async def under_span(
    source: AsyncGenerator[Any], name: str, **attributes: float | str | UUID | None
) -> AsyncGenerator[Any]:
    """Yield what `source` does, with a span around all of it. It is current while `source` runs, and not between.

    A generator may be resumed in another context than it was begun in, so no `with` block can have the span.
    """
    current = trace.get_tracer(NAMESPACE).start_span(f"{NAMESPACE}.{name}")
    noted, inside = Noted(current), trace.set_span_in_context(current)
    noted.note(**attributes)
    try:
        async with aclosing(source) as events:
            while True:
                token = context.attach(inside)
                try:
                    event = await anext(events, _END)
                finally:
                    context.detach(token)
                if event is _END:
                    return
                yield event
    except BaseException as error:
        noted.failed(error)
        raise
    finally:
        current.end()


_END: Final = object()


def _told(value: float | str | UUID | None) -> float | str | None:
    if isinstance(value, UUID):
        return str(value)
    if not isinstance(value, str):
        return value
    if WORD.fullmatch(value):
        return value
    try:
        return str(UUID(value))
    except ValueError:
        return None
