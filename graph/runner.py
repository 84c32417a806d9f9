"""Run turns for a service: each message once, whatever is down, with the real values for its owner."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final, Literal, cast
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot, StreamMode

from discreet.background_loop import wait_for
from discreet.checkpoint.answers import is_answer
from discreet.graph.approvals import masked_decisions
from discreet.graph.deliveries import DELIVERY, Deliveries, Delivery
from discreet.graph.node_mask import mask_of
from discreet.graph.once import once
from discreet.graph.outage import Play, messages_in, run_through_outage
from discreet.graph.shown_values import ShownValues
from discreet.graph.streams import Graph, MessagePieces, Part, Shape, reply_parts
from discreet.graph.thread_turns import ThreadTurns
from discreet.nodes.background_tasks import drain
from discreet.nodes.input_check import messages_of
from discreet.nodes.masking import failed, turn_key
from discreet.nodes.run import Run, run_of
from discreet.ports import Claim, Done, Running, ShortTermStore, TextRedactor, TurnVault
from discreet.prompts.own_replies import render_reply
from discreet.settings import load_settings
from discreet.spans import under_span
from discreet.state.message_text import text_of

END: Final = object()


class TurnRunner:
    """Runs a compiled graph, one turn a call, in the place of the graph's own `invoke`, `stream` and their like.

    A message that is delivered again gets the first one's answer, or a polite reply while that is still being made: a text
    for three seconds, a recording for as long as its answer is kept (24 h). If the checkpointer can't be reached the turn
    is answered all the same, from what the short-term store has of the thread, and is not kept; a log event and a metric
    say so. Placeholders in what is returned or streamed, questions of paused turns too, are the real values again, as far as the
    vault has them; what people decide about tool calls goes in with placeholders.

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
        vault: TurnVault | None = None,
        redactor: TextRedactor | None = None,
        default_user: str | None = None,
        max_media_bytes: int | None = None,
        messages_key: str = "messages",
        one_at_a_time: bool = False,
    ) -> None:
        """Run `graph`.

        Args:
            graph: Compiled, with whatever checkpointer.
            short_term: Where deliveries are claimed, for example `storage.short_term`; None: every delivery runs.
            vault: Where the values are. Default: the vault of the graph's nodes or middleware.
            redactor: Masks what people decide. Default: as `vault`.
            default_user: user_id for runs that name none.
            max_media_bytes: As the graph has it. Default: DISCREET_MAX_MEDIA_BYTES.
            messages_key: State key of the messages.
            one_at_a_time: Whether turns of one thread wait for each other, up to 20 seconds, in all processes that share `short_term`.
        """
        self._graph: Graph = once(graph)
        self._short_term = short_term
        self._deliveries = Deliveries(short_term, max_media_bytes=max_media_bytes or load_settings().max_media_bytes)
        self._mask = mask_of(graph, vault=vault, redactor=redactor)
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

    def get_state(self, config: RunnableConfig, *, context: Any = None, subgraphs: bool = False) -> StateSnapshot:
        """Do what `aget_state` does, blocking."""
        return wait_for(self.aget_state(config, context=context, subgraphs=subgraphs))

    async def aget_state(
        self, config: RunnableConfig, *, context: Any = None, subgraphs: bool = False
    ) -> StateSnapshot:
        """Return the state of a thread as the graph's own `aget_state` does, with the real values as far as the vault has them.

        They are those of the user whom `context` or `config` names.
        """
        state = await self._graph.aget_state(config, subgraphs=subgraphs)
        shown = ShownValues(self._mask.vault, turn_key(_run_of(config, context)))
        return cast("StateSnapshot", await shown.put_back(state))

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
        """Run one turn; yield the parts of it that `shape` asks for, with the real values."""
        run = _run_of(config, context, default_user=self._default_user)
        given, messages = self._taken(given, run)
        newest = messages[-1] if messages else None
        delivery, claim = await self._deliveries.claim(run, newest)
        if isinstance(claim, Done | Running):
            reply = await self._reply(messages, delivery, claim)
            for part in reply_parts(messages, reply, shape, node=DELIVERY, messages_key=self._key):
                yield part
            return
        owner = _run_of(config, context)  # as the nodes know them, who have no default of ours
        shown = ShownValues(self._mask.vault, turn_key(owner, None if run.thread_id or newest is None else newest.id))
        said: list[BaseMessage] = []
        play = partial(shape.parts, config=config, context=context, options=options)
        try:
            given = await self._decided(given, owner)
            async with self._turns.one(run), aclosing(self._played(play, given, run)) as parts:
                async for part in parts:
                    if part.mode == "values" and not part.place:
                        said = messages_in(part.data, self._key)
                    if part.mode in shape.modes:
                        yield await shown.part(part)
        except BaseException:  # cancelled, given up or failed, the message was not answered: its next delivery is
            await self._deliveries.release(delivery, claim)
            raise
        if answer := _answer(said):
            await self._keep_values(delivery, shown, answer)
            await self._deliveries.finish(delivery, claim, answer)

    async def _played(self, play: Play, given: Any, run: Run) -> AsyncGenerator[Part]:
        whole = MessagePieces()
        through = run_through_outage(
            play, self._graph, given, run=run, short_term=self._short_term, messages_key=self._key
        )
        async with aclosing(through) as parts:
            async for part in parts:
                yield whole.feed(part)
        for part in whole.rest():
            yield part

    async def _decided(self, given: Any, owner: Run) -> Any:
        """Return an input with placeholders in what a person decided about tool calls."""
        if not isinstance(given, Command) or given.resume is None:
            return given
        turn = await self._mask.turn([], run=owner)
        return dataclasses.replace(given, resume=await masked_decisions(given.resume, turn))

    def _taken(self, given: Any, run: Run) -> tuple[Any, list[BaseMessage]]:
        """Return an input with its messages as such, and these; a command or None as it is.

        Without a thread the newest gets an id: the vault knows its turn by that.
        """
        if not isinstance(given, Mapping):
            return given, []
        messages = messages_of(given.get(self._key))
        if messages and messages[-1].id is None and run.thread_id is None:
            messages[-1] = messages[-1].model_copy(update={"id": str(uuid4())})
        return {**given, self._key: messages}, messages

    async def _reply(self, messages: Sequence[BaseMessage], delivery: Delivery | None, claim: Claim) -> AIMessage:
        """Return the answer that the first delivery got, or a request for patience."""
        if isinstance(claim, Done):
            key = "" if delivery is None else delivery.work.ref
            answer = await ShownValues(self._mask.vault, key).put_back(claim.answer)
            return AIMessage(answer, response_metadata={DELIVERY: "repeated"})
        return AIMessage(
            render_reply("still_working", text_of(messages[-1])), response_metadata={DELIVERY: "still_working"}
        )

    async def _keep_values(self, delivery: Delivery | None, shown: ShownValues, answer: str) -> None:
        """Let further deliveries have the values of `answer` too, while the vault has them: a recording in other threads."""
        values = {} if delivery is None else await shown.values_in(answer)
        if delivery is None or not values:
            return
        try:
            await self._mask.vault.ahold(delivery.work.ref, values)
        except Exception as error:  # noqa: BLE001  # placeholders stay, whatever a foreign vault raises
            failed("hold", error)


async def _next(events: AsyncGenerator[Any]) -> Any:
    return await anext(events, END)


def _run_of(config: RunnableConfig | None, context: Any, *, default_user: str | None = None) -> Run:
    return run_of((config or {}).get("configurable") or {}, context, default_user=default_user)


def _answer(messages: Sequence[BaseMessage]) -> str:
    """Return the answer that ends the turn, redacted; empty if it paused."""
    return text_of(messages[-1]) if messages and is_answer(messages[-1]) else ""
