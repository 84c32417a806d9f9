"""A compiled graph whose runs go under guard: raw values in, placeholders out, and nothing raw in what it raises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import BaseMessageChunk
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from discreet.background_loop import wait_for
from discreet.checkpoint.answers import is_answer
from discreet.errors import ConfigurationError, DiscreetError
from discreet.graph.deliveries import ANSWER_KEEP, TURN_LEASE, WAIT_SECONDS, Deliveries, Delivery, count, reply_to
from discreet.graph.guard.events import CallbackEvents, Events, StreamEvents
from discreet.graph.guard.failures import quieten, told
from discreet.graph.guard.objects import RunObjects, RunTexts
from discreet.graph.guard.requests import Call, resolved, under_first_id
from discreet.graph.once import TASK, OnceGraph, attributes_of, node_masks
from discreet.graph.streams import Shape, blocking, messages_in, replied
from discreet.nodes.input_check import messages_of
from discreet.nodes.run import run_of
from discreet.ports import Done, Running, ShortTermStore, Started, TextRedactor, TurnVault, Work, of_thread
from discreet.redaction.clean_texts import CleanTexts
from discreet.redaction.configured import default_redactor
from discreet.redaction.placeholders import TAGGED
from discreet.redaction.thread_values import failed, vault_key
from discreet.redaction.vault import default_vault
from discreet.settings import load_settings
from discreet.spans import under_span
from discreet.state.message_text import text_of
from discreet.state.request_ref import REQUEST_DELIVERY, values_ref


def guarded(
    graph: CompiledStateGraph[Any, Any, Any, Any],
    *,
    vault: TurnVault | None = None,
    redactor: TextRedactor | None = None,
    short_term: ShortTermStore | None = None,
) -> GuardedGraph:
    """Return a copy of `graph` for a server: its nodes get what a request said, and whoever looks on gets placeholders.

    A run whose config names a request (`REQUEST_REF`) gets the raw parts back from `vault`. All that a run yields, in
    every mode and version, is redacted with the redactor of its thread, and the values that went are in the vault under
    the request's name before an event is out. Exceptions lose what they say, unless they are Discreet's own. Without a
    request, input is taken as it is. `print_mode` and `debug`, which print raw values, do nothing.

    A message that is delivered twice is answered once: its thread knows it by the id under which the ingress has it. Where there is
    no thread, `short_term` keeps the answer. Default for it and for `vault`: those of this process's storage, which the ingress
    has too.

    LangGraph's own log lines about errors of nodes lose what the errors say, in the whole process.

    A custom stream writer's texts are redacted one by one: a value that a node itself cuts in two is not seen.

    Example:
        >>> from discreet.graph import build_graph
        >>> graph = guarded(build_graph(chat_model="offline").compile(name="discreet"))
        >>> graph.invoke({"messages": [("user", "I am ann@example.com")]})["messages"][0].content
        'I am <EMAIL>'
    """
    quieten()
    mask = next(node_masks(graph), None)
    guard = Guard(
        vault=vault or (mask.vault if mask else _vault_of_server()),
        redactor=redactor or (mask.redactor if mask else default_redactor()),
        deliveries=Deliveries(short_term or cast("ShortTermStore", _ShortTermOfServer())),
    )
    return GuardedGraph(**{**attributes_of(graph), "guard": guard})


def _vault_of_server() -> TurnVault:
    """Return what the ingress of this process holds requests in: with `DISCREET_TURN_VAULT` it is in the storage."""
    if load_settings().turn_vault == "memory":
        return default_vault()
    from discreet.storage.shared import process_storage  # graphs of no server need no database

    return process_storage.vault


class _ShortTermOfServer:
    """The short-term store of this process's storage, asked for when a message was marked: a graph of no server needs none."""

    def __getattr__(self, name: str) -> Any:
        from discreet.storage.shared import process_storage  # as above

        return getattr(process_storage.short_term, name)


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What the runs of one graph are guarded with."""

    vault: TurnVault
    redactor: TextRedactor
    deliveries: Deliveries
    clean: CleanTexts = field(default_factory=CleanTexts, repr=False)
    """Texts in which nothing was found, so that a history is searched once and not in every turn."""


class GuardedRun:
    """One run. It shows nothing of what it knows, as tracebacks show the variables of frames."""

    def __init__(self, guard: Guard, call: Call) -> None:
        self._guard = guard
        self.call = call
        self._ref = call.ref
        self.objects = self._objects({})
        self._failure: BaseException | None = None

    def __repr__(self) -> str:
        return "GuardedRun()"

    async def begin(self) -> None:
        """Get the raw parts of the request back, and the values that the vault has."""
        if self._ref is None:
            return
        vault = self._guard.vault
        try:
            parts, values = await vault.avalues(self._ref), await vault.avalues(values_ref(self._ref))
            if (thread := self._thread_that_goes_on()) is not None and (known := await vault.avalues(thread)):
                await vault.ahold(values_ref(self._ref), known)
            await asyncio.to_thread(self._begin, parts, values)  # an image is much JSON to read
        except Exception as error:  # noqa: BLE001  # the run goes on with placeholders, whatever a foreign vault raises
            failed("values", error)

    async def events(self, source: AsyncGenerator[Any], kind: Events) -> AsyncGenerator[Any]:
        """Yield the events redacted, with their values in the vault before. `raise_failure` has how it ended."""
        try:
            async with aclosing(source) as events:
                async for event in events:
                    for each in await self.redacted(kind.redact, event):
                        yield each
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001  # told, and raised by `raise_failure`
            self._failure = told(error, self.objects.redact)
        if self._failure is None or isinstance(self._failure, Exception):
            for each in await self.redacted(lambda _: kind.rest(), None):
                yield each
        if self._failure is None and self._ref is not None:  # a run that failed may be tried again
            try:
                await self._guard.vault.adrop(self._ref)
            except Exception as error:  # noqa: BLE001  # its TTL ends it
                failed("drop", error)

    def raise_failure(self) -> None:
        """Raise what the run ended with, if it failed, with no trace of what it came from."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def redacted(self, redact: Callable[[Any], Any], value: Any) -> Any:
        """Return what `redact` makes of a value; what it took goes to the vault first."""
        shown = redact(value) if _is_piece(value) else await asyncio.to_thread(redact, value)
        new = self.objects.texts.taken()
        if new and self._ref is not None:
            try:
                await self._guard.vault.ahold(values_ref(self._ref), new)
            except Exception as error:  # noqa: BLE001  # placeholders stay
                failed("hold", error)
        return shown

    def _thread_that_goes_on(self) -> str | None:
        """Return what the vault knows a thread by that goes on where it paused; where a message comes in, nodes look it up."""
        if self.call.input is not None and not isinstance(self.call.input, Command):
            return None
        run = run_of(self.call.configurable, self.call.options.get("context"))
        return None if run.thread_id is None else vault_key(run.thread_id)

    def _begin(self, parts: Mapping[str, str], values: Mapping[str, str]) -> None:
        if not parts and not values and TAGGED.search(str(self.call.input)):
            failed("values", LookupError())  # a request was redacted, and what it said is gone
        self.objects = self._objects(values)
        self.call = resolved(self.call, parts)

    def _objects(self, known: Mapping[str, str]) -> RunObjects:
        thread = self.call.thread_id
        redactor = of_thread(self._guard.redactor, thread)
        return RunObjects(RunTexts(redactor, known, thread=thread or "", clean=self._guard.clean))


def _is_piece(value: Any) -> bool:
    """Whether an event has so little text, a token of a message, that redacting it keeps nobody waiting: a thread would cost more."""
    message = value[2][0] if isinstance(value, tuple) and isinstance(value[2], tuple) and value[2] else None
    return isinstance(message, BaseMessageChunk)


class GuardedGraph(OnceGraph):
    """A compiled graph whose runs go under guard. `copy` and what is made by it keep the guard."""

    def __init__(self, *, guard: Guard, **attributes: Any) -> None:
        """Take the attributes of the graph to guard, as `copy` does."""
        super().__init__(**{**attributes, "debug": False})
        self.guard = guard

    @property
    def redactor(self) -> TextRedactor:
        """What its messages are redacted with."""
        return self.guard.redactor

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncGenerator[Any]:
        """Do what the graph's own `astream` does, under guard."""
        call = Call(input, config, {**options, "print_mode": (), "debug": False})
        shape = Shape.of(options, "values" if TASK in call.configurable else self.stream_mode)
        del input, config, options  # a traceback shows the variables of this frame
        run = GuardedRun(self.guard, call)
        await run.begin()
        run.call.input = under_first_id(run.call, self.messages_key)
        delivery = _delivery(run.call)
        async with self.guard.deliveries.turn(delivery, patience=WAIT_SECONDS) as turn:
            count(delivery, turn.claim)
            if isinstance(turn.claim, Done | Running):
                stream: Callable[..., Any] = self._replying(turn.claim, shape)
            else:
                stream = super().astream
            needed = ["values"] if isinstance(turn.claim, Started) else []
            parts = shape.parts(stream, run.call.input, run.call.config, run.call.options, needed=needed)
            traced = under_span(parts, "turn", thread_id=run.call.thread_id, run_id=run.call.run_id)
            async with aclosing(run.events(traced, StreamEvents(run.objects))) as events:
                async for part in events:
                    if part.mode == "values" and not part.place and delivery is not None:
                        said = messages_in(part.data, self.messages_key)
                        turn.answer = text_of(said[-1]) if said and is_answer(said[-1]) else None
                    if part.mode in shape.modes:
                        yield shape.shaped(part)
            run.raise_failure()

    def _replying(self, claim: Done | Running, shape: Shape) -> Callable[..., AsyncGenerator[Any]]:
        """Return what runs in the place of a graph whose message is another run's, and gives the answer of that."""

        def astream(given: Any, config: Any, **_: Any) -> AsyncGenerator[Any]:
            key = self.messages_key
            said = messages_of(given.get(key))
            listed = Shape(shape.modes, shape.subgraphs, shape.version)
            parts = replied({key: [*said, reply_to(claim, said)]}, listed, key=key)
            return self._traced(map(listed.shaped, parts), given, config)

        return astream

    def stream(self, input: Any, config: Any = None, **options: Any) -> Generator[Any]:
        """Do what the graph's own `stream` does, under guard."""
        return blocking(self.astream(input, config, **options))

    def astream_events(self, input: Any, config: Any = None, *, version: Any = "v2", **options: Any) -> Any:
        """Do what the graph's own `astream_events` does, under guard.

        Version 3 is made of what `astream` yields. The events of the others come from callbacks all over the graph.
        """
        if version == "v3":
            return super().astream_events(input, config, version=version, **options)
        return self._callback_events(Call(input, config, {**options, "version": version}))

    def astream_log(self, *_: Any, **__: Any) -> Any:
        """Refuse.

        Raises:
            ConfigurationError: Always. The log of a run is made of raw values, and the server has no use for it.
        """
        raise ConfigurationError("A guarded graph gives out no log of its runs. Use astream or astream_events.")

    async def _callback_events(self, call: Call) -> AsyncGenerator[Any]:
        run = GuardedRun(self.guard, call)
        await run.begin()
        # The call as it came: `astream` puts the raw parts in, and the first event shows the input that is given here.
        source = super().astream_events(call.input, call.config, **call.options)
        async with aclosing(run.events(cast("Any", source), CallbackEvents(run.objects))) as events:
            async for event in events:
                yield event
        run.raise_failure()

    def get_state(self, config: Any, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state redacted. Checkpointers of others hold it as it was."""
        return wait_for(self._shown(config, super().get_state(config, subgraphs=subgraphs)))

    async def aget_state(self, config: Any, *, subgraphs: bool = False) -> StateSnapshot:
        """Do what `get_state` does."""
        return await self._shown(config, await super().aget_state(config, subgraphs=subgraphs))

    def get_state_history(self, config: Any, **options: Any) -> Iterator[StateSnapshot]:
        """Yield the states redacted, newest first."""
        for state in super().get_state_history(config, **options):
            yield wait_for(self._shown(config, state))

    async def aget_state_history(self, config: Any, **options: Any) -> AsyncIterator[StateSnapshot]:
        """Do what `get_state_history` does."""
        async for state in super().aget_state_history(config, **options):
            yield await self._shown(config, state)

    async def _shown(self, config: Any, state: StateSnapshot) -> StateSnapshot:
        run = GuardedRun(self.guard, Call(None, config))
        return cast("StateSnapshot", await run.redacted(run.objects.engine, state))


def _delivery(call: Call) -> Delivery | None:
    """Return what the turn of a run without a thread is claimed as, if its message may come again."""
    name = call.configurable.get(REQUEST_DELIVERY)
    if not isinstance(name, str) or TASK in call.configurable:
        return None
    try:
        user = run_of(call.configurable, call.options.get("context")).user_id
    except DiscreetError:
        return None  # the graph refuses it with the same error
    work = None if user is None else Work(kind="request", user_id=user, ref=name)
    return None if work is None else Delivery(work=work, lease=TURN_LEASE, keep=ANSWER_KEEP)
