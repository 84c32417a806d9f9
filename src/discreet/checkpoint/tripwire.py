"""The second line of defence: a serializer that refuses what the filter should have kept out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.types import Interrupt

from discreet.checkpoint.kept_tools import tools_of
from discreet.checkpoint.messages import form_of, made
from discreet.checkpoint.values import ATOMS
from discreet.errors import LeakBlockedError


class TripwireSerializer(SerializerProtocol):
    """Serializes like `inner`, after checking that the value holds only what the durable tier may hold.

    That is plain data, an interrupt of plain data, and user and model messages of an id and a text, a middleware's summary, or a call or result of
    the tools that the policy names. Anything else, a
    tool message, a `Send`, a `Command`, an exception, or a message with response metadata, is refused.
    """

    def __init__(self, inner: SerializerProtocol, tools: Collection[str] = frozenset()) -> None:
        """`tools`: those whose calls and results may be written."""
        self.inner = inner
        self._tools = frozenset(tools)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the type and the bytes of `obj`.

        Raises:
            LeakBlockedError: `obj` holds something else.
        """
        check(obj, self._tools)
        return self.inner.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of `data`."""
        return self.inner.loads_typed(data)


def check(value: Any, tools: Collection[str] = frozenset()) -> None:
    """Look through `value`.

    Raises:
        LeakBlockedError: Something in it must not be stored. The message names its type only.
    """
    kind = type(value)
    if kind in (list, tuple, set, frozenset, dict, Interrupt):
        for part in _parts(value):
            check(part, tools)
    elif kind is str:
        if "\0" in value:
            raise LeakBlockedError("A text with a NUL was about to be written; PostgreSQL would log it. It was not.")
    elif kind in (HumanMessage, AIMessage, RemoveMessage) or (kind is ToolMessage and tools):
        _check_message(value, tools)
    elif kind not in ATOMS and kind is not float:
        raise LeakBlockedError(f"A {kind.__name__} was about to be written. It was not, and nothing else was.")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Interrupt):
        return value.value, value.id, value.response_schema
    return chain(*value.items()) if isinstance(value, dict) else value


def _check_message(message: BaseMessage, tools: Collection[str]) -> None:
    is_text = isinstance(message.content, str)
    bare = (
        RemoveMessage(id=message.id or "")
        if isinstance(message, RemoveMessage)
        else made(form_of(message), message.id, str(message.content))
    )
    if not is_text or message != bare or not tools_of(form_of(message)) <= set(tools):
        raise LeakBlockedError(
            f"A {type(message).__name__} with more than an id and a text was about to be written. It was not."
        )
    check(message.content)
    check(form_of(message))
