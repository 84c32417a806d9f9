"""Run turns for a service: each message once, whatever is down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from discreet.checkpoint.answers import is_answer
from discreet.driver_errors import storage_errors
from discreet.errors import StorageUnavailableError
from discreet.graph.deliveries import Deliveries, Delivery, count, delivery_of, reply_to
from discreet.graph.once import OnceGraph, attributes_of, once, upto
from discreet.graph.streams import Graph, Part, Shape, blocking, messages_in, replied
from discreet.metrics import outage_turns
from discreet.nodes.background_tasks import drain
from discreet.nodes.input_check import messages_of
from discreet.nodes.run import Run, run_of
from discreet.nodes.short_term import tolerant
from discreet.ports import Done, Round, Running, ShortTermStore, of_thread
from discreet.redaction.same_text import is_same_text
from discreet.settings import load_settings
from discreet.spans import under_span
from discreet.state.message_text import text_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Turns:
    """How a runner runs turns."""

    short_term: ShortTermStore | None
    deliveries: Deliveries
    one_at_a_time: bool
    default_user: str | None
    max_media_bytes: int


class TurnRunner(OnceGraph):
    """A compiled graph for a service: `invoke`, `stream`, `get_state` and all else are LangGraph's.

    A message that is delivered again gets the first one's answer, or a polite reply while that is still being made: a text
    for three seconds, a recording for as long as its answer is kept (24 h). If the checkpointer can't be reached the turn
    is answered all the same, from what the short-term store has of the thread, and is not kept; a log event and a metric
    say so.

    Raises, from all that runs it:
        InputError: The message is refused, or the user_id can't be used.
        ThreadBusyError: With `one_at_a_time`, other turns of the thread took longer than one waits for them.
        StorageUnavailableError: The checkpointer failed while the turn was under way.

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
        graph: Graph | None = None,
        *,
        short_term: ShortTermStore | None = None,
        one_at_a_time: bool = False,
        **attributes: Any,
    ) -> None:
        """Run `graph`.

        Args:
            graph: Compiled, with whatever checkpointer.
            short_term: Where deliveries are claimed, for example `storage.short_term`; None: every delivery runs.
            one_at_a_time: Whether turns of one thread wait for each other, up to 20 seconds, in all processes that share `short_term`.
            attributes: What `copy` gives in the place of all of these.
        """
        if graph is not None:
            graph, settings = once(graph), load_settings()
            turns = Turns(
                short_term=short_term,
                deliveries=Deliveries(short_term),
                one_at_a_time=one_at_a_time,
                default_user=settings.default_user,
                max_media_bytes=(graph.input_check or settings).max_media_bytes,
            )
            attributes = {**attributes_of(graph), "turns": turns}
        self.turns: Turns = attributes.pop("turns")
        super().__init__(**attributes)

    def stream(self, input: Any, config: Any = None, **options: Any) -> Generator[Any]:
        """Do what `astream` does, blocking."""
        yield from blocking(self.astream(input, config, **options))

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncGenerator[Any]:
        """Run one turn and yield what the graph's own `astream` does, in all of its modes.

        A message whose stream is given up by who reads it counts as not answered.
        """
        shape = Shape.of(options, self.stream_mode)
        run = run_of(self._configurable(config), options.get("context"), default_user=self.turns.default_user)
        turn = under_span(self._turn(input, config, options, shape, run), "turn", thread_id=run.thread_id or "")
        async with aclosing(turn) as parts:
            async for part in parts:
                if part.mode in shape.modes:
                    yield shape.shaped(part)

    async def aclose(self) -> None:
        """Wait for the work beside the turns, 20 seconds at most; before the storage is closed."""
        await drain()

    async def _turn(
        self, given: Any, config: Any, options: Mapping[str, Any], shape: Shape, run: Run
    ) -> AsyncGenerator[Part]:
        messages: list[BaseMessage] = []
        if isinstance(given, Mapping):
            messages = messages_of(given.get(self.messages_key))
            given = {**given, self.messages_key: messages}
        delivery = await self._delivery(messages, run)
        async with self.turns.deliveries.turn(delivery) as turn:
            count(delivery, turn.claim)
            if isinstance(turn.claim, Done | Running):
                for part in await self._repeated(turn.claim, messages, config, shape, run):
                    yield part
                return
            said: list[BaseMessage] = []
            alone = self.turns.deliveries.thread(run) if self.turns.one_at_a_time else nullcontext()
            through = self._through_outage(given, config, options, shape, run)
            async with alone, aclosing(through) as parts:
                async for part in parts:
                    if part.mode == "values" and not part.place:
                        said = messages_in(part.data, self.messages_key)
                    yield part
            turn.waits = not (said and is_answer(said[-1]))
            if delivery is not None and not turn.waits:
                redactor = of_thread(self.redactor, run.thread_id)
                turn.answer = await asyncio.to_thread(redactor.redact, text_of(said[-1]))

    async def _delivery(self, messages: Sequence[BaseMessage], run: Run) -> Delivery | None:
        if self.turns.short_term is None or not messages or not isinstance(messages[-1], HumanMessage):
            return None
        return await asyncio.to_thread(delivery_of, run, messages[-1], max_media_bytes=self.turns.max_media_bytes)

    async def _repeated(
        self, claim: Done | Running, messages: Sequence[BaseMessage], config: Any, shape: Shape, run: Run
    ) -> list[Part]:
        """Return the parts of a run that gives what the first delivery got, as the thread has it where it does."""
        key = self.messages_key
        if isinstance(claim, Done) and isinstance(self.checkpointer, BaseCheckpointSaver) and run.thread_id is not None:
            state = await self.aget_state(config)
            there, redactor = messages_in(state.values, key), of_thread(self.redactor, run.thread_id)

            def is_it(message: BaseMessage) -> bool:
                return is_answer(message) and is_same_text(claim.answer, text_of(message), redactor)

            if places := await asyncio.to_thread(lambda: [at for at, each in enumerate(there) if is_it(each)]):
                return replied({**state.values, key: upto(there, places[-1])}, shape, key=key)
        return replied({key: [*messages, reply_to(claim, messages)]}, shape, key=key)

    async def _through_outage(
        self, given: Any, config: Any, options: Mapping[str, Any], shape: Shape, run: Run
    ) -> AsyncGenerator[Part]:
        """Run one turn; if the checkpointer fails before any node was started, without it, after the last rounds of the session.

        If it fails when the answer is there, that is all. In both cases the turn is not kept. What goes on with a paused turn, or
        with one that waits for a result, can't do without the checkpointer; nor can a turn under way: nothing can say what was done.
        """
        begun, said = False, list[BaseMessage]()
        own = shape.parts(super().astream, given, config, options, needed=("values", "tasks"))
        try:
            with storage_errors():
                async with aclosing(own) as parts:
                    async for part in parts:
                        begun = begun or part.mode == "tasks"
                        if part.mode == "values" and not part.place:
                            said = messages_in(part.data, self.messages_key)
                        yield part
        except StorageUnavailableError:
            if begun and said and is_answer(said[-1]):
                _lost("turn")
                return
            new = given.get(self.messages_key) if isinstance(given, Mapping) else None
            if begun or not new or isinstance(new[-1], ToolMessage):
                raise
        else:
            return
        _lost("thread")
        given = {**given, self.messages_key: [*await self._last_rounds(run), *new]}
        alone = partial(OnceGraph.astream, self.copy({"checkpointer": None}))
        async with aclosing(shape.parts(alone, given, config, options, needed=("values",))) as parts:
            async for part in parts:
                yield part

    async def _last_rounds(self, run: Run) -> list[BaseMessage]:
        """Return what the session has; each message of the user's has its request's id, by which it is known if it was forgotten."""
        if self.turns.short_term is None or run.user_id is None or run.thread_id is None:
            return []
        call = self.turns.short_term.recent_rounds(run.user_id, run.thread_id)
        rounds: list[Round] = await tolerant("recent_rounds", call, otherwise=[])
        return [
            message
            for each in rounds
            for message in (HumanMessage(each.input_text, id=each.request_id), AIMessage(each.output_text))
        ]


def _lost(what: str) -> None:
    outage_turns.labels(what).inc()
    logger.warning("checkpointer_unreachable lost=%s", what)
