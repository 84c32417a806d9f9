"""The second line of defence: a serializer that refuses what the filter should have kept out."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.types import Interrupt

from discreet.checkpoint.messages import form_of, made
from discreet.checkpoint.values import ATOMS
from discreet.errors import LeakBlockedError


class TripwireSerializer(SerializerProtocol):
    """Serializes like `inner`, after checking that the value holds only what the durable tier may hold.

    That is plain data, an interrupt of plain data, and user and model messages of an id and a text, or a middleware's summary. Anything else, a
    tool message, a `Send`, a `Command`, an exception, or a message with response metadata, is refused.
    """

    def __init__(self, inner: SerializerProtocol) -> None:
        self.inner = inner

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the type and the bytes of `obj`.

        Raises:
            LeakBlockedError: `obj` holds something else.
        """
        check(obj)
        return self.inner.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of `data`."""
        return self.inner.loads_typed(data)


def check(value: Any) -> None:
    """Look through `value`.

    Raises:
        LeakBlockedError: Something in it must not be stored. The message names its type only.
    """
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        for item in value:
            check(item)
    elif kind is dict:
        for key, item in value.items():
            check(key)
            check(item)
    elif kind is Interrupt:
        check(value.value)
        check(value.id)
        check(value.response_schema)
    elif kind is str:
        if "\0" in value:
            raise LeakBlockedError("A text with a NUL was about to be written; PostgreSQL would log it. It was not.")
    elif kind in (HumanMessage, AIMessage, RemoveMessage):
        _check_message(value)
    elif kind not in ATOMS and kind is not float:
        raise LeakBlockedError(f"A {kind.__name__} was about to be written. It was not, and nothing else was.")


def _check_message(message: BaseMessage) -> None:
    is_text = isinstance(message.content, str)
    bare = (
        RemoveMessage(id=message.id or "")
        if isinstance(message, RemoveMessage)
        else made(form_of(message), message.id, str(message.content))
    )
    if not is_text or message != bare:
        raise LeakBlockedError(
            f"A {type(message).__name__} with more than an id and a text was about to be written. It was not."
        )
    check(message.content)
