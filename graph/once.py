"""A compiled graph that answers a message once: one that comes again under its id gets what it got, at any time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config, merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot

from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.base import TwoTierSaver
from discreet.checkpoint.message_ids import safe_id
from discreet.checkpoint.required_fields import tell_unkept
from discreet.checkpoint.user_input import as_mapping
from discreet.errors import InputError, MessageIdReusedError
from discreet.graph.deliveries import REPEATED
from discreet.graph.streams import Part, Shape, messages_in, replied
from discreet.metrics import duplicate_deliveries
from discreet.nodes.input_check import InputCheck, messages_of
from discreet.nodes.masking import TurnMask
from discreet.nodes.media import MAX_MEDIA
from discreet.nodes.node import Node
from discreet.nodes.run import run_of
from discreet.ports import TextRedactor, of_thread
from discreet.redaction.configured import default_redactor
from discreet.redaction.same_text import is_same_text
from discreet.state.media import media_texts
from discreet.state.message_text import joined, text_of, words_of

TASK: Final = "__pregel_task_id"
"""Key of `configurable` that is there when a graph runs as a node of another."""

SUMMARY: Final = re.compile(r"\n\[")
"""Begins what stands for a medium behind the words that came with it."""


@dataclass(kw_only=True)
class Known:
    """A message that came in under the id of one that its thread has."""

    given: HumanMessage
    before: Sequence[BaseMessage]
    """What came in with it, before it."""
    messages: Sequence[BaseMessage]
    """All that the thread has."""
    place: int
    """Where it is among these."""
    state: StateSnapshot | None = None
    """Where the thread stands, for what is done about it."""
    is_done: bool = False
    """Whether it has what it gets already, and nothing is left of its turn."""

    @property
    def answer(self) -> int | None:
        """Where its answer is: the last one before the user speaks again. Who spoke twice before they were answered got one for both."""
        found = None
        for at, message in enumerate(self.messages[self.place + 1 :], self.place + 1):
            if is_answer(message):
                found = at
            elif found is not None and isinstance(message, HumanMessage):
                break
        return found

    @property
    def is_paused(self) -> bool:
        """Whether its turn waits for a person."""
        return self.state is not None and bool(self.state.interrupts) and self._is_newest(self.place)

    @property
    def is_broken_off(self) -> bool:
        """Whether its turn was answered, and has more to do: nobody is asked, and nodes are left."""
        is_left = self.state is not None and bool(self.state.next) and not self.state.interrupts
        return is_left and self.answer is not None and self._is_newest(self.answer)

    def _is_newest(self, place: int) -> bool:
        """Return whether the user has said nothing behind a place."""
        return not any(isinstance(message, HumanMessage) for message in self.messages[place + 1 :])

    def is_edited(self, redactor: TextRedactor) -> bool:
        """Return whether an earlier message of the user's came in with another text than the thread has."""
        there = {message.id: text_of(message) for message in self.messages}
        return any(
            isinstance(each, HumanMessage)
            and (stored := there.get(each.id, there.get(safe_id(each.id)))) is not None
            and not is_same_text(stored, text_of(each), redactor)
            for each in self.before
        )

    def is_same(self, redactor: TextRedactor) -> bool:
        """Return whether it says what the thread has; `redactor` is the thread's. Of media, which are not stored, the words beside them."""
        stored, texts = text_of(self.messages[self.place]), words_of(self.given.content)
        if is_same_text(stored, text_of(self.given), redactor):
            return True
        if not media_texts(self.given.content):
            return False
        ends = [match.start() for match in SUMMARY.finditer(stored)][-MAX_MEDIA:]
        return not texts or any(is_same_text(stored[:end], joined(texts), redactor) for end in ends)

    def parts(self, shape: Shape, key: str, outputs: str | Sequence[str]) -> list[Part]:
        """Return what a run gives that has answered it: the state up to its answer, or the question that its turn waits with.

        Other turns may have come since: they are left out.
        """
        assert self.state is not None  # nobody else repeats an answer
        names = [outputs] if isinstance(outputs, str) else outputs
        values = {name: item for name, item in self.state.values.items() if name in names}
        answer = None if self.is_paused else self.answer
        if answer is None:
            return replied(values, shape, key=key, interrupts=self.state.interrupts)
        return replied({**values, key: upto(self.messages, answer)}, shape, key=key)


def upto(messages: Sequence[BaseMessage], answer: int) -> list[BaseMessage]:
    """Return the messages up to an answer, which says that it is given again."""
    last = messages[answer]
    return [*messages[:answer], last.model_copy(update={"response_metadata": {**last.response_metadata, **REPEATED}})]


def begins_with(given: Any, key: str) -> list[BaseMessage]:
    """Return the messages of an input whose last one begins a turn, and has an id; none if it is another, or takes some away."""
    fields = as_mapping(given)
    try:
        said = messages_of(None if fields is None else fields.get(key))
    except InputError:
        return []  # the graph refuses it with the same error
    begins = bool(said) and isinstance(said[-1], HumanMessage) and bool(said[-1].id)
    return said if begins and not any(isinstance(message, RemoveMessage) for message in said) else []


def known_in(
    messages: Sequence[BaseMessage], said: Sequence[BaseMessage], state: StateSnapshot | None = None
) -> Known | None:
    """Return what the `messages` of a thread tell of the last one of an input; None if none has its id.

    Raises:
        MessageIdReusedError: It is the user's, and its id is that of an answer.
    """
    given = said[-1]
    ids = {given.id, safe_id(given.id)}
    place = next((at for at, message in enumerate(messages) if message.id in ids), None)
    if place is None or not isinstance(given, HumanMessage):
        return None
    if not isinstance(messages[place], HumanMessage):
        raise MessageIdReusedError
    return Known(given=given, before=said[:-1], messages=messages, place=place, state=state)


class OnceGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that answers a message once. `copy` and what is made by it do so too.

    A message is known by its id, in its thread, as far as the checkpointer has it. The same text again gets the answer that is
    stored, or the question that its turn waits with; nothing runs, and nothing is stored. Another text is refused, and nothing
    is changed. A turn that was broken off before its answer runs again; one that was behind it ends what is left of it.
    An input that its first node would refuse is refused before any of it is stored.

    Raises, from all that runs it:
        InputError: The message is empty, too large or of a type that can't be taken; `code` says which.
        MessageIdReusedError: The message's id is that of one with another text.
    """

    @property
    def input_check(self) -> InputCheck | None:
        """What tells of an input whether the graph would refuse it; None if its first node has no such check."""
        first = [self.builder.nodes[end].runnable for start, end in self.builder.edges if start == START]
        return first[0].check if len(first) == 1 and isinstance(first[0], Node) else None

    @property
    def messages_key(self) -> str:
        """Key of the messages in the graph's state."""
        return "messages" if self.input_check is None else self.input_check.messages_key

    @property
    def redactor(self) -> TextRedactor:
        """What its messages are redacted with: that of its nodes or of their middleware, else the process's."""
        mask = next(node_masks(self), None)
        return default_redactor() if mask is None else mask.redactor

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncGenerator[Any]:
        """Do what the graph's own `astream` does, once a message."""
        if (refuse := self._refusing(input, config)) is not None:
            await asyncio.to_thread(refuse)
        known = None
        if said := self._said(input, config):
            known = await asyncio.to_thread(self._known, said, await super().aget_state(config), config)
        if known is not None and known.is_done:
            async for event in self._traced(self._again(known, options), input, config):
                yield event
            return
        given = None if known is not None and known.is_broken_off else input
        async with aclosing(cast("Any", super().astream(given, config, **options))) as events:
            async for event in events:
                yield event

    def stream(self, input: Any, config: Any = None, **options: Any) -> Generator[Any]:
        """Do what `astream` does, blocking."""
        if (refuse := self._refusing(input, config)) is not None:
            refuse()
        said = self._said(input, config)
        known = self._known(said, super().get_state(config), config) if said else None
        if known is not None and known.is_done:
            yield from self._again(known, options)
            return
        given = None if known is not None and known.is_broken_off else input
        yield from cast("Any", super().stream(given, config, **options))

    def _refusing(self, given: Any, config: Any) -> Callable[[], None] | None:
        """Return what refuses an input before any of it is stored; None if it is not looked at: a subgraph's, or no message.

        It hashes payloads: run it in a thread.
        """
        check, fields = self.input_check, as_mapping(given)
        if check is None or fields is None or TASK in self._configurable(config):
            return None
        return partial(check.input, fields)

    def _said(self, given: Any, config: Any) -> list[BaseMessage]:
        """Return the messages of an input that begins a turn of a thread with a message of the user's that has an id."""
        configurable = self._configurable(config)
        is_kept = isinstance(self.checkpointer, BaseCheckpointSaver) and configurable.get("thread_id") is not None
        is_elsewhere = TASK in configurable or configurable.get("checkpoint_id")  # in another graph's turn; a fork
        return begins_with(given, self.messages_key) if is_kept and not is_elsewhere else []

    def _known(self, said: Sequence[BaseMessage], state: StateSnapshot, config: Any) -> Known | None:
        """Return what became of a message, if it came before. It redacts: call it in a thread.

        Raises:
            MessageIdReusedError: The message before had another text.
        """
        known = known_in(messages_in(state.values, self.messages_key), said, state)
        if known is None:
            return None
        redactor = of_thread(self.redactor, run_of(self._configurable(config)).thread_id or "")
        if not known.is_same(redactor):
            duplicate_deliveries.labels("message", "refused").inc()
            raise MessageIdReusedError
        is_over = known.is_paused or known.answer is not None
        known.is_done = is_over and not known.is_broken_off and not known.is_edited(redactor)
        if known.is_done:
            duplicate_deliveries.labels("message", "done").inc()
        return known

    def _again(self, known: Known, options: Mapping[str, Any]) -> Generator[Any]:
        shape = Shape.of(options, self.stream_mode)
        outputs = options.get("output_keys") or self.output_channels
        yield from map(shape.shaped, known.parts(shape, self.messages_key, outputs))

    async def _traced(self, events: Iterable[Any], given: Any, config: Any) -> AsyncGenerator[Any]:
        """Yield events as a run that callbacks hear of: `astream_events` is made of what they hear."""
        whole, last = self._whole(config), None
        manager = get_async_callback_manager_for_config(whole)
        name = str(whole.get("run_name") or self.get_name())
        run = await manager.on_chain_start(None, given, name=name, run_id=whole.get("run_id"))
        for last in events:
            yield last
        await run.on_chain_end(last)

    def _configurable(self, config: Any) -> Mapping[str, Any]:
        return self._whole(config).get("configurable") or {}

    def _whole(self, config: Any) -> RunnableConfig:
        return ensure_config(merge_configs(self.config, config))


def once(graph: CompiledStateGraph[Any, Any, Any, Any]) -> OnceGraph:
    """Return a copy of `graph` that answers a message once; itself if it does so already."""
    if isinstance(graph, OnceGraph):
        return graph
    if isinstance(graph.checkpointer, TwoTierSaver):
        tell_unkept(graph.builder.state_schema, graph.checkpointer.policy)
    return OnceGraph(**attributes_of(graph))


def attributes_of(graph: CompiledStateGraph[Any, Any, Any, Any]) -> dict[str, Any]:
    """Return what a copy of a compiled graph is made of."""
    return {name: item for name, item in vars(graph).items() if name != "__orig_class__"}


class OnceBuilder(StateGraph[Any, Any, Any, Any]):
    """A builder whose graphs answer a message once."""

    def compile(self, *args: Any, **options: Any) -> OnceGraph:
        """Do what LangGraph's own `compile` does."""
        return once(super().compile(*args, **options))


def node_masks(graph: Any) -> Iterator[TurnMask]:
    """Yield what the nodes of a graph mask messages with; of middleware, the methods are the nodes."""
    for node in graph.nodes.values():
        if isinstance(node.bound, Pregel):
            yield from node_masks(node.bound)
        function = getattr(node.bound, "func", None) or getattr(node.bound, "afunc", None)
        mask = getattr(getattr(function, "__self__", node.bound), "mask", None)
        if isinstance(mask, TurnMask):
            yield mask
