"""The state of one conversation, as three schemas: what comes in, what goes out, what the nodes share.

Only `messages` outlives a turn. The other channels are plain JSON, belong to the running turn, and are never written to
a database by `RedactingSaver`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from discreet.errors import UnsupportedInputError
from discreet.state.media import MediaMeta, Modality


class Request(TypedDict):
    """The turn that is running."""

    request_id: str
    """Assigned by `save_input`; the same for the same message of the same thread."""
    message_id: str
    """Id of the user's message of this turn."""
    said: NotRequired[str]
    """What they said, redacted, as memories are searched with it."""
    said_ids: NotRequired[list[str]]
    """Ids of all messages of theirs that wait for an answer as the turn begins: a graph may write human messages of its own."""
    modality: Modality
    """How the user spoke."""
    media: NotRequired[list[MediaMeta]]
    """Metadata of each medium, if there was any."""
    started_at: str
    """UTC, ISO 8601."""
    began: NotRequired[str]
    """What the storage knows the turn's work by, as `discreet.ports.BeginsWork` told it: nothing of it is stored once the user
    was erased, also if the turn paused meanwhile."""
    waits: NotRequired[bool]
    """Whether the turn has ended in a call of one of the client's tools, whose result another run brings."""


class Gate(TypedDict):
    """What `memory_gate` decided."""

    retrieve: bool
    """Whether long-term memory is searched in this turn."""
    reason: str
    """Name of the rule that decided."""


class RetrievedMemory(TypedDict):
    """One memory as the assistant sees it."""

    entry_id: str
    """Id of the record."""
    text: str
    """Redacted text."""
    type: str
    """One of the memory types of `discreet.state.records`."""
    created_at: str
    """UTC, ISO 8601; tells the model which of two facts is newer."""
    relevance: float
    """Calibrated similarity to the question, 0 to 1."""


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


class InputState(TypedDict):
    """What a caller sends."""

    messages: Annotated[list[AnyMessage], append_messages]
    """The user's new message, usually one `HumanMessage`."""


class OutputState(TypedDict):
    """What a caller gets back."""

    messages: Annotated[list[AnyMessage], append_messages]
    """The conversation. What of it is stored is up to the checkpointer: under `RedactingSaver` user messages and answers, redacted."""


class ConversationState(InputState):
    """What the nodes share."""

    request: NotRequired[Request | None]
    """The running turn; None between turns."""
    gate: NotRequired[Gate | None]
    """The gate's decision for the running turn."""
    memories: NotRequired[list[RetrievedMemory]]
    """Memories retrieved for the running turn, best first."""
    remaining_steps: NotRequired[RemainingSteps]
    """Steps that the run may still take, this one included, as LangGraph counts them. Never stored."""
