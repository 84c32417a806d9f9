"""How updates of a channel are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from discreet.errors import UnsupportedInputError


def append_messages(left: Sequence[Any], right: Any) -> list[AnyMessage]:
    """Merge messages by id as LangGraph's `add_messages` does, refusing what is no message with a typed error.

    Raises:
        UnsupportedInputError: `right` holds something that is neither a message nor convertible to one.
    """
    try:
        return add_messages(left, right)  # type: ignore[arg-type, return-value]  # upstream's types lack Sequence
    except (ValueError, TypeError, NotImplementedError, KeyError, AttributeError):
        kind = type(right).__name__
        raise UnsupportedInputError(
            f"`messages` takes chat messages; this {kind} holds something else. Send "
            '[{"role": "user", "content": "…"}] or a HumanMessage.'
        ) from None  # upstream's message repeats the value
