"""Run turns for a service: each message once, whatever is down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final, Literal, cast

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, StateSnapshot, StreamMode

from discreet.background_loop import wait_for
from discreet.checkpoint.answers import is_answer
from discreet.graph.again import repeated_parts
from discreet.graph.deliveries import DELIVERY, Deliveries
from discreet.graph.node_mask import mask_of
from discreet.graph.once import once
from discreet.graph.outage import messages_in, run_through_outage
from discreet.graph.streams import Graph, Part, Shape, reply_parts
from discreet.graph.thread_turns import ThreadTurns
from discreet.nodes.background_tasks import drain
from discreet.nodes.input_check import messages_of
from discreet.nodes.run import Run, run_of
from discreet.ports import Done, Running, ShortTermStore, of_thread
from discreet.prompts.texts import render_reply
from discreet.settings import load_settings
from discreet.spans import under_span
from discreet.state.message_text import text_of

END: Final = object()


class TurnRunner:
    """Runs a compiled graph, one turn a call, in the place of the graph's own `invoke`, `stream` and their like.

    A message that is delivered again gets the first one's answer, or a polite reply while that is still being made: a text
    for three seconds, a recording for as long as its answer is kept (24 h). If the checkpointer can't be reached the turn
    is answered all the same, from what the short-term store has of the thread, and is not kept; a log event and a metric
    say so.

    Example:
        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> from discreet.graph import build_graph
        >>> from discreet.state.context import Context
        >>> graph = build_graph(chat_model="offline").compile(checkpointer=InMemorySaver())
        >>> runner = TurnRunner(graph)
        >>> thread = {"configurable": {"thread_id": "1"}}
        >>> state = runner.invoke({"messages": [("user", "Hello!")]}, thread, context=Context(user_id="ann"))
        >>> state["messages"][-1].type
        'ai'
    """

    def __init__(
        self,
        graph: Graph,
        *,
        short_term: ShortTermStore | None = None,
        default_user: str | None = None,
        max_media_bytes: int | None = None,
        messages_key: str = "messages",
        one_at_a_time: bool = False,
    ) -> None:
        """Run `graph`.

        Args:
            graph: Compiled, with whatever checkpointer.
            short_term: Where deliveries are claimed, for example `storage.short_term`; None: every delivery runs.
            default_user: user_id for runs that name none.
            max_media_bytes: As the graph has it. Default: DISCREET_MAX_MEDIA_BYTES.
            messages_key: State key of the messages.
            one_at_a_time: Whether turns of one thread wait for each other, up to 20 seconds, in all processes that share `short_term`.
        """
        self._graph: Graph = once(graph)
        self._short_term = short_term
        self._deliveries = Deliveries(short_term, max_media_bytes=max_media_bytes or load_settings().max_media_bytes)
        self._redactor = mask_of(graph).redactor
        self._turns = ThreadTurns(short_term if one_at_a_time else None)
        self._default_user = default_user
        self._key = messages_key

    def invoke(
        self,
        input: Mapping[str, Any] | Command[Any] | None,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Do what `ainvoke` does, blocking."""
        return wait_for(self.ainvoke(input, config, context=context, **options))

    async def ainvoke(
        self,
        input: Mapping[str, Any] | Command[Any] | None,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Run one turn and return the state after it, as the graph's own `ainvoke` does.

        `Command(resume=…)` answers a paused turn; None goes on with one. `options` are LangGraph's, such as `durability`.

        Raises:
            InputError: The message is refused, or the user_id can't be used.
            ThreadBusyError: With `one_at_a_time`, other turns of the thread took longer than one waits for them.
            StorageUnavailableError: The checkpointer failed while the turn was under way.
        """
        state: dict[str, Any] = {}
        paused: list[Any] = []
        options = {"output_keys": self._graph.output_channels, **options}
        async with aclosing(self._turn(input, config, context, Shape(["updates", "values"]), options)) as parts:
            async for part in parts:
                if part.mode == "values":
                    state = part.data
                elif "__interrupt__" in part.data:
                    paused += part.data["__interrupt__"]
        return {**state, "__interrupt__": paused} if paused else state

    def stream(
        self,
        input: Mapping[str, Any] | Command[Any] | None,
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Generator[Any]:
        """Do what `astream` does, blocking."""
        events = self.astream(input, config, **options)
        try:
            while (event := wait_for(_next(events))) is not END:
                yield event
        finally:
            wait_for(events.aclose())

    async def astream(
        self,
        input: Mapping[str, Any] | Command[Any] | None,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: StreamMode | Sequence[StreamMode] | None = None,
        subgraphs: bool = False,
        version: Literal["v1", "v2"] = "v1",
        **options: Any,
    ) -> AsyncGenerator[Any]:
        """Run one turn and yield what the graph's own `astream` does, in all of its modes.

        A message whose stream is given up by who reads it counts as not answered. `input`, `options` and errors: see `ainvoke`.
        """
        shape = Shape(stream_mode or self._graph.stream_mode, subgraphs, version)
        async with aclosing(self._turn(input, config, context, shape, options)) as parts:
            async for part in parts:
                yield shape.shaped(part)

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Do what `aget_state` does, blocking."""
        return wait_for(self.aget_state(config, subgraphs=subgraphs))

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a thread as the graph's own `aget_state` does."""
        return await self._graph.aget_state(config, subgraphs=subgraphs)

    def update_state(self, config: RunnableConfig, values: Any, as_node: str | None = None) -> RunnableConfig:
        """Do what `aupdate_state` does, blocking."""
        return wait_for(self.aupdate_state(config, values, as_node))

    async def aupdate_state(self, config: RunnableConfig, values: Any, as_node: str | None = None) -> RunnableConfig:
        """Change the state of a thread as the graph's own `aupdate_state` does: the checkpointer gets `values` as they are."""
        return await self._graph.aupdate_state(config, values, as_node)

    async def aclose(self) -> None:
        """Wait for the work beside the turns, 20 seconds at most; before the storage is closed."""
        await drain()

    def _turn(
        self, given: Any, config: RunnableConfig | None, context: Any, shape: Shape, options: Mapping[str, Any]
    ) -> AsyncGenerator[Part]:
        thread = ((config or {}).get("configurable") or {}).get("thread_id")
        return under_span(
            self._parts(given, config, context, shape, options), "turn", thread_id="" if thread is None else str(thread)
        )

    async def _parts(
        self, given: Any, config: RunnableConfig | None, context: Any, shape: Shape, options: Mapping[str, Any]
    ) -> AsyncGenerator[Part]:
        """Run one turn; yield the parts of it that `shape` asks for."""
        run = _run_of(config, context, default_user=self._default_user)
        given, messages = self._taken(given)
        delivery, claim = await self._deliveries.claim(run, messages[-1] if messages else None)
        if isinstance(claim, Done | Running):
            for part in await self._again(messages, claim, config, shape):
                yield part
            return
        said: list[BaseMessage] = []
        play = partial(shape.parts, config=config, context=context, options=options)
        through = partial(run_through_outage, run=run, short_term=self._short_term, messages_key=self._key)
        try:
            async with self._turns.one(run), aclosing(through(play, self._graph, given)) as parts:
                async for part in parts:
                    if part.mode == "values" and not part.place:
                        said = messages_in(part.data, self._key)
                    if part.mode in shape.modes:
                        yield part
        except BaseException:  # cancelled, given up or failed, the message was not answered: its next delivery is
            await self._deliveries.release(delivery, claim)
            raise
        if delivery is not None and (answer := await self._kept(said, run)):
            await self._deliveries.finish(delivery, claim, answer)

    async def _kept(self, messages: Sequence[BaseMessage], run: Run) -> str:
        """Return the answer that ends the turn as it is kept, redacted; empty if it paused."""
        if not (messages and is_answer(messages[-1])):
            return ""
        return await asyncio.to_thread(of_thread(self._redactor, run.thread_id).redact, text_of(messages[-1]))

    async def _again(
        self, messages: Sequence[BaseMessage], claim: Done | Running, config: RunnableConfig | None, shape: Shape
    ) -> list[Part]:
        """Return the parts of a run that gives what the first delivery got: its answer as the thread has it, or a request for patience."""
        if isinstance(claim, Running):
            text = render_reply("still_working", text_of(messages[-1]))
            reply = AIMessage(text, response_metadata={DELIVERY: "still_working"})
            return reply_parts(messages, reply, shape, node=DELIVERY, messages_key=self._key)
        thread = _run_of(config, None).thread_id
        is_kept = isinstance(self._graph.checkpointer, BaseCheckpointSaver) and thread is not None
        state = await self._graph.aget_state(cast("RunnableConfig", config)) if is_kept else None
        redactor = of_thread(self._redactor, thread)
        return await asyncio.to_thread(
            repeated_parts, messages, claim.answer, state, shape=shape, key=self._key, redactor=redactor
        )

    def _taken(self, given: Any) -> tuple[Any, list[BaseMessage]]:
        """Return an input with its messages as such, and these; a command or None as it is."""
        if not isinstance(given, Mapping):
            return given, []
        messages = messages_of(given.get(self._key))
        return {**given, self._key: messages}, messages


async def _next(events: AsyncGenerator[Any]) -> Any:
    return await anext(events, END)


def _run_of(config: RunnableConfig | None, context: Any, *, default_user: str | None = None) -> Run:
    return run_of((config or {}).get("configurable") or {}, context, default_user=default_user)
