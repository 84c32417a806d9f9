"""A compiled graph that answers a message once: one that comes again under its id gets what it got, at any time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    merge_configs,
)
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from discreet.checkpoint.base import TwoTierSaver
from discreet.checkpoint.required_fields import tell_unkept
from discreet.checkpoint.user_input import as_mapping
from discreet.errors import MessageIdReusedError
from discreet.graph.again import Known, begins_with, known_in, messages_in
from discreet.graph.node_mask import mask_of
from discreet.graph.streams import Shape
from discreet.metrics import duplicate_deliveries
from discreet.nodes.input_check import InputCheck
from discreet.nodes.masking import TurnMask
from discreet.nodes.node import Node
from discreet.nodes.run import run_of
from discreet.ports import of_thread

TASK: Final = "__pregel_task_id"
"""Key of `configurable` that is there when a graph runs as a node of another."""


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
    def mask(self) -> TurnMask:
        """What its messages are masked with."""
        return mask_of(self)

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncGenerator[Any]:
        """Do what the graph's own `astream` does, once a message."""
        if (refuse := self._refusing(input, config)) is not None:
            await asyncio.to_thread(refuse)
        given = input
        if said := self._said(input, config):
            state = await super().aget_state(config)
            known = known_in(messages_in(state.values, self.messages_key), said, state)
            if known is not None and await asyncio.to_thread(self._is_done, known, config):
                async for event in self._again_traced(known, input, config, options):
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
        given = input
        if said := self._said(input, config):
            state = super().get_state(config)
            known = known_in(messages_in(state.values, self.messages_key), said, state)
            if known is not None and self._is_done(known, config):
                yield from self._again_traced_now(known, input, config, options)
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

    def _is_done(self, known: Known, config: Any) -> bool:
        """Return whether a message that came again has what it gets already.

        Raises:
            MessageIdReusedError: It has another text.
        """
        redactor = of_thread(self.mask.redactor, self._thread(config))
        if known.is_same(redactor):
            done = known.is_over and not known.is_edited(redactor) and not known.is_broken_off
            if done:
                duplicate_deliveries.labels("message", "done").inc()
            return done
        duplicate_deliveries.labels("message", "refused").inc()
        raise MessageIdReusedError

    async def _again_traced(
        self, known: Known, given: Any, config: Any, options: Mapping[str, Any]
    ) -> AsyncGenerator[Any]:
        """Yield what a message gets again, as a run that callbacks hear of: `astream_events` is made of what they hear."""
        whole, last = self._whole(config), None
        manager = get_async_callback_manager_for_config(whole)
        run = await manager.on_chain_start(None, given, name=self._name(whole), run_id=whole.get("run_id"))
        for last in self._again(known, options):
            yield last
        await run.on_chain_end(last)

    def _again_traced_now(self, known: Known, given: Any, config: Any, options: Mapping[str, Any]) -> Generator[Any]:
        """Do what `_again_traced` does, blocking."""
        whole, last = self._whole(config), None
        manager = get_callback_manager_for_config(whole)
        run = manager.on_chain_start(None, given, name=self._name(whole), run_id=whole.get("run_id"))
        for last in self._again(known, options):
            yield last
        run.on_chain_end(last)

    def _name(self, config: RunnableConfig) -> str:
        return str(config.get("run_name") or self.get_name())

    def _again(self, known: Known, options: Mapping[str, Any]) -> Generator[Any]:
        modes = options.get("stream_mode") or self.stream_mode
        shape = Shape(modes, bool(options.get("subgraphs")), options.get("version") or "v1")
        outputs = options.get("output_keys") or self.output_channels
        for part in known.parts(shape, self.messages_key, outputs):
            yield shape.shaped(part)

    def _thread(self, config: Any) -> str:
        return run_of(self._configurable(config)).thread_id or ""

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
