"""What a run was given. A run that brings a tool's result goes on from the call, and any other must not meet it: providers refuse that.

LangGraph tells a saver of an input when the first nodes may run already, and with durability "exit" never. LangChain tells
its handlers as a graph starts, before that reads its checkpoint, in the same context; and of errors that no saver sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID
from weakref import WeakValueDictionary

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers.context import register_configure_hook
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command

from discreet.checkpoint.message_ids import take_ids
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.required_fields import explain
from discreet.checkpoint.user_input import as_mapping, as_messages

RESUMING = "__pregel_resuming"
"""By which LangGraph tells a subgraph that it goes on, though it is given its input again."""

NOTHING: Final = object()
_newest: ContextVar[Any] = ContextVar("discreet_run_input", default=NOTHING)
_run_id: ContextVar[UUID | None] = ContextVar("discreet_run_id", default=None)
_policy: ContextVar[CheckpointPolicy | None] = ContextVar("discreet_run_policy", default=None)


@dataclass(slots=True, weakref_slot=True)
class Run:
    """A run of a graph."""

    returned: bool = False
    """Whether it has returned: at the end of the turn, a question or a breakpoint. One that failed, was cancelled or drained hasn't."""


_runs: WeakValueDictionary[UUID, Run] = WeakValueDictionary()
"""Runs of which a thread waits to hear how they end."""


class _Listener(BaseCallbackHandler):
    """Remembers what the chain was given that started last, and which runs returned; explains errors about missing fields."""

    run_inline = True  # in the context of the run, not in a task of its own
    ignore_llm = ignore_chat_model = ignore_retriever = ignore_agent = ignore_retry = ignore_custom_event = True

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        _newest.set(inputs)
        _run_id.set(run_id)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if (run := _runs.get(run_id)) is not None:
            run.returned = True

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        if (policy := _policy.get()) is not None:
            explain(error, policy)


_listener: ContextVar[BaseCallbackHandler | None] = ContextVar("discreet_run_listener", default=_Listener())  # noqa: B039  # it has no state
register_configure_hook(_listener, inheritable=False)


class Given(NamedTuple):
    """What a run was given, as far as tool calls go."""

    results: frozenset[str]
    """Ids of the calls of which it brings results."""
    calls: frozenset[str]
    """Ids of the calls that it brings itself, as a client does that sends all of a conversation again."""
    alone: bool
    """Whether it brings results and no other message."""
    ids: frozenset[str | None]
    """Of the messages that it brings."""
    written: Sequence[Any] = ()
    """What it brings for each channel of messages, as the caller handed it over."""

    def with_stored_ids(self, redact: Callable[[str], str], *, there: AbstractSet[str | None]) -> Given:
        """Return the same once its messages have the ids that are stored: LangGraph looks for these among those that are `there`."""
        for each in self.written:
            take_ids([message for message in as_list(each) if has_id(message)], redact, there=there)
        messages = (message for each in self.written for message in as_messages(each) or ())
        return self._replace(ids=frozenset(message.id for message in messages))


def take_given(config: RunnableConfig, policy: CheckpointPolicy) -> Given | None:
    """Return what the run was given that reads its checkpoint now; None if that is nothing new, or nobody told."""
    _policy.set(policy)
    value = _newest.get()
    _newest.set(NOTHING)  # it may be large, and is looked at once
    if isinstance(value, Command) and value.resume is not None:
        return None  # it goes on from the question, whatever comes along
    if isinstance(value, Command):
        value = dict(value.update) if isinstance(value.update, list | tuple) else value.update
    if value is None or value is NOTHING or config["configurable"].get(RESUMING):
        return None
    written = list(_written_in(value, policy.messages))
    messages = [message for each in written for message in as_messages(each) or ()]
    results = frozenset(message.tool_call_id for message in messages if isinstance(message, ToolMessage))
    alone = all(isinstance(message, ToolMessage) for message in messages)
    return Given(results, calls_in(messages), alone, frozenset(message.id for message in messages), written)


def answers_by_id() -> bool:
    """Return whether the run that reads its checkpoint next, which `take_given` forgets, brings answers by the ids of their questions."""
    value = _newest.get()
    return isinstance(value, Command) and isinstance(value.resume, Mapping)


def this_run() -> Run:
    """Return the run that reads its checkpoint now. One that nobody tells of is never heard to return."""
    run = Run()
    if (run_id := _run_id.get()) is not None:
        _runs[run_id] = run
    return run


def goes_on(config: RunnableConfig, found: CheckpointTuple) -> bool:
    """Return whether a run goes on from `found` whatever it was given: LangGraph takes the same run's id for that."""
    run_id = config.get("metadata", {}).get("run_id")
    return run_id is not None and run_id == found.metadata.get("run_id")


def calls_in(messages: Sequence[Any]) -> frozenset[str]:
    """Return the ids of all tool calls in `messages`."""
    called = (message for message in messages if isinstance(message, AIMessage))
    return frozenset(str(call["id"]) for message in called for call in message.tool_calls)


def orphans(messages: Sequence[Any]) -> list[ToolMessage]:
    """Return the results in `messages` whose calls are not there."""
    calls = calls_in(messages)
    return [each for each in messages if isinstance(each, ToolMessage) and each.tool_call_id not in calls]


def as_list(written: Any) -> list[Any]:
    """Return what is written to a channel of messages, one or several, as several."""
    return list(written) if isinstance(written, (list, tuple)) else [written]


def has_id(message: Any) -> bool:
    """Return whether a message, in whatever form, has an id already."""
    return bool(message.get("id") if isinstance(message, dict) else getattr(message, "id", None))


def _written_in(value: Any, channels: Sequence[str]) -> Iterator[Any]:
    if (fields := as_mapping(value)) is not None:
        yield from (fields[channel] for channel in channels if channel in fields)
    elif isinstance(value, BaseMessage | list):  # of an `@entrypoint`
        yield value
