"""A compiled graph whose runs go under guard."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import aclosing, closing
from typing import Any, cast

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from discreet.errors import ConfigurationError
from discreet.graph.deliveries import Deliveries, Delivery
from discreet.graph.guard.callback_events import CallbackEvents
from discreet.graph.guard.events import Shape, StreamEvents
from discreet.graph.guard.logs import quieten
from discreet.graph.guard.repeated import AnswerWatch, chain_events, claim_run, is_again, repeated
from discreet.graph.guard.requests import Call
from discreet.graph.guard.run import Guard, GuardedRun
from discreet.graph.node_mask import mask_of
from discreet.graph.once import TASK, OnceGraph, attributes_of
from discreet.nodes.masking import TurnMask
from discreet.ports import Claim, Done, Running, ShortTermStore, Started, TextRedactor, TurnVault
from discreet.redaction.vault import default_vault
from discreet.settings import load_settings
from discreet.spans import under_span


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

    A message that is delivered twice is answered once. One that comes again under its id is known by the thread; others, for some
    seconds, by the mark of the ingress, and `short_term` keeps the answer for the second run. Default for it and for `vault`: those
    of this process's storage, which the ingress has too.

    LangGraph's own log lines about errors of nodes lose what the errors say, in the whole process.

    A custom stream writer's texts are redacted one by one: a value that a node itself cuts in two is not seen.

    Example:
        >>> from discreet.graph import build_graph
        >>> graph = guarded(build_graph(chat_model="offline").compile(name="discreet"))
        >>> graph.invoke({"messages": [("user", "I am ann@example.com")]})["messages"][0].content
        'I am <EMAIL>'
    """
    quieten()
    mask = mask_of(graph, vault=vault, redactor=redactor, otherwise=_vault_of_server)
    store = short_term or cast("ShortTermStore", _ShortTermOfServer())
    deliveries = Deliveries(store, max_media_bytes=load_settings().max_media_bytes)
    guard = Guard(vault=mask.vault, redactor=mask.redactor, deliveries=deliveries)
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


class GuardedGraph(OnceGraph):
    """A compiled graph whose runs go under guard. `copy` and what is made by it keep the guard."""

    def __init__(self, *, guard: Guard, **attributes: Any) -> None:
        """Take the attributes of the graph to guard, as `copy` does."""
        super().__init__(**{**attributes, "debug": False})
        self.guard = guard

    @property
    def mask(self) -> TurnMask:
        """What its messages are masked with."""
        return mask_of(self, vault=self.guard.vault, redactor=self.guard.redactor)

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncGenerator[Any]:
        """Do what the graph's own `astream` does, under guard."""
        call, shape = self._prepared(input, config, options)
        del input, config, options  # a traceback shows the variables of this frame
        run = self.guard.run(call)
        await run.abegin()
        delivery, claim = await claim_run(self.guard.deliveries, run.call)
        if isinstance(claim, Done | Running):
            source, watch = await self._repeated(run, delivery, claim), None
        else:
            watch = AnswerWatch(run.call, self.messages_key) if isinstance(claim, Started) else None
            source = cast("Any", super().astream(run.call.input, run.call.config, **run.call.options))
        try:
            traced = under_span(source, "turn", thread_id=run.call.thread_id, run_id=run.call.run_id)
            async with aclosing(run.aevents(traced, StreamEvents(run.objects, shape))) as events:
                async for event in events:
                    if watch is None or watch.passes(event):
                        yield event
            run.raise_failure()
        except BaseException:  # cancelled or failed, the message was not answered: its next delivery is
            await self.guard.deliveries.release(delivery, claim)
            raise
        if watch is not None and delivery is not None:
            await self._answered(run, delivery, claim, watch.answer)

    async def _repeated(self, run: GuardedRun, delivery: Delivery | None, claim: Done | Running) -> AsyncGenerator[Any]:
        if delivery is not None:
            await run.bring_values(delivery.work.ref)
        return repeated(self, run.call, claim)

    async def _answered(self, run: GuardedRun, delivery: Delivery, claim: Claim | None, answer: str | None) -> None:
        if answer is None:
            await self.guard.deliveries.release(delivery, claim)
            return
        await run.keep_values(delivery.work.ref, answer)
        await self.guard.deliveries.finish(delivery, claim, answer)

    def stream(self, input: Any, config: Any = None, **options: Any) -> Generator[Any]:
        """Do what the graph's own `stream` does, under guard."""
        call, shape = self._prepared(input, config, options)
        del input, config, options
        run = self.guard.run(call)
        run.begin()
        source = super().stream(run.call.input, run.call.config, **run.call.options)
        with closing(run.events(cast("Any", source), StreamEvents(run.objects, shape))) as events:
            yield from events
        run.raise_failure()

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
        run = self.guard.run(call)
        await run.abegin()
        # The call as it came: `astream` puts the raw parts in, and the first event shows the input that is given here.
        source = await self._repeated_events(run) or super().astream_events(call.input, call.config, **call.options)
        async with aclosing(run.aevents(cast("Any", source), CallbackEvents(run.objects))) as events:
            async for event in events:
                yield event
        run.raise_failure()

    async def _repeated_events(self, run: GuardedRun) -> AsyncGenerator[Any] | None:
        """Return the events of a second delivery that another run answers; None if this one has to: `astream` will see to that."""
        if not is_again(run.call):
            return None
        delivery, claim = await claim_run(self.guard.deliveries, run.call)
        if isinstance(claim, Done | Running):
            call = run.call
            streamed = {name: item for name, item in call.options.items() if name != "version"}  # that of the events
            run.call = Call(call.input, call.config, {"stream_mode": self.stream_mode, **streamed})
            return chain_events(await self._repeated(run, delivery, claim), run.call, self.get_name())
        await self.guard.deliveries.release(delivery, claim)
        return None

    def get_state(self, config: Any, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state redacted. Checkpointers of others hold it as it was."""
        return self._snapshot(config, super().get_state(config, subgraphs=subgraphs))

    async def aget_state(self, config: Any, *, subgraphs: bool = False) -> StateSnapshot:
        """Do what `get_state` does."""
        return await self._asnapshot(config, await super().aget_state(config, subgraphs=subgraphs))

    def get_state_history(self, config: Any, **options: Any) -> Iterator[StateSnapshot]:
        """Yield the states redacted, newest first."""
        for state in super().get_state_history(config, **options):
            yield self._snapshot(config, state)

    async def aget_state_history(self, config: Any, **options: Any) -> AsyncIterator[StateSnapshot]:
        """Do what `get_state_history` does."""
        async for state in super().aget_state_history(config, **options):
            yield await self._asnapshot(config, state)

    def _snapshot(self, config: Any, state: StateSnapshot) -> StateSnapshot:
        run = self.guard.run(Call(None, config))
        return cast("StateSnapshot", StreamEvents(run.objects, Shape("values")).snapshot(state))

    async def _asnapshot(self, config: Any, state: StateSnapshot) -> StateSnapshot:
        run: GuardedRun = self.guard.run(Call(None, config))
        redact = StreamEvents(run.objects, Shape("values")).snapshot
        return cast("StateSnapshot", await run.redacted(redact, state))

    def _prepared(self, input: Any, config: Any, options: Mapping[str, Any]) -> tuple[Call, Shape]:
        """Return the call, with the modes that the graph itself would choose, and the shape of what it yields."""
        call = Call(input, config, {**options, "print_mode": (), "debug": False})
        modes = call.options.get("stream_mode")
        if modes is None:
            modes = "values" if TASK in call.configurable else self.stream_mode
            call.options["stream_mode"] = modes
        subgraphs = bool(call.options.get("subgraphs"))
        return call, Shape(modes, subgraphs=subgraphs, version=call.options.get("version") or "v1")
