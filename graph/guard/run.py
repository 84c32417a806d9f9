"""One run under guard: raw values in, placeholders out, and nothing raw in what it raises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from langchain_core.messages import BaseMessage
from langgraph.types import Command

from discreet.graph.deliveries import Deliveries
from discreet.graph.guard.failures import told
from discreet.graph.guard.objects import RunObjects
from discreet.graph.guard.requests import Call, resolved
from discreet.graph.guard.texts import RunTexts
from discreet.nodes.run import run_of
from discreet.ports import TextRedactor, TurnVault, of_thread
from discreet.redaction.clean_texts import CleanTexts
from discreet.redaction.placeholders import TAGGED
from discreet.redaction.thread_values import failed, vault_key
from discreet.state.request_ref import values_ref

INLINE_CHARS: Final = 4_000
"""Characters that are redacted on the event loop itself, in about 2 ms; more goes to a thread."""

INLINE_JSON_CHARS: Final = 200_000
"""Characters of JSON that are read on the event loop itself, in about 1 ms; an image takes a thread."""


class Redacts(Protocol):
    """Redacts the events of one run, of one kind of stream."""

    def redact(self, event: Any) -> list[Any]:
        """Return what is yielded for `event`."""
        ...

    def rest(self) -> list[Any]:
        """Return what was held back."""
        ...


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What the runs of one graph are guarded with."""

    vault: TurnVault
    redactor: TextRedactor
    deliveries: Deliveries
    clean: CleanTexts = field(default_factory=CleanTexts, repr=False)
    """Texts in which nothing was found, so that a history is searched once and not in every turn."""

    def run(self, call: Call) -> GuardedRun:
        """Return the run of a call, before it asks the vault."""
        return GuardedRun(self, call)


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

    async def abegin(self) -> None:
        """Get the raw parts of the request back, and the values that the vault has."""
        if self._ref is not None:
            vault = self._guard.vault
            try:
                parts, values = await vault.avalues(self._ref), await vault.avalues(values_ref(self._ref))
                if (thread := self._thread_that_goes_on()) is not None and (known := await vault.avalues(thread)):
                    await vault.ahold(values_ref(self._ref), known)
                if sum(map(len, parts.values())) > INLINE_JSON_CHARS:
                    await asyncio.to_thread(self._begin, parts, values)
                else:
                    self._begin(parts, values)
            except Exception as error:  # noqa: BLE001  # the run goes on with placeholders, whatever a foreign vault raises
                failed("values", error)

    def begin(self) -> None:
        """Do what `abegin` does, blocking."""
        if self._ref is not None:
            vault = self._guard.vault
            try:
                parts, values = vault.values(self._ref), vault.values(values_ref(self._ref))
                if (thread := self._thread_that_goes_on()) is not None and (known := vault.values(thread)):
                    vault.hold(values_ref(self._ref), known)
                self._begin(parts, values)
            except Exception as error:  # noqa: BLE001  # as above
                failed("values", error)

    async def aevents(self, events: AsyncGenerator[Any], redacts: Redacts) -> AsyncGenerator[Any]:
        """Yield the events redacted, with their values in the vault before. `raise_failure` has how it ended."""
        try:
            async with aclosing(events) as source:
                async for event in source:
                    for each in await self._aredacted(redacts.redact, event):
                        yield each
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001  # told, and raised by `raise_failure`
            self._failure = told(error, self.objects.redact)
        if self._failure is None or isinstance(self._failure, Exception):
            for each in await self._aredacted(lambda _: redacts.rest(), None):
                yield each
        if self._failure is None and self._ref is not None:  # a run that failed may be tried again
            try:
                await self._guard.vault.adrop(self._ref)
            except Exception as error:  # noqa: BLE001  # its TTL ends it
                failed("drop", error)

    def events(self, events: Generator[Any], redacts: Redacts) -> Generator[Any]:
        """Do what `aevents` does, blocking."""
        try:
            with closing(events) as source:
                for event in source:
                    shown = redacts.redact(event)
                    self._hold()
                    yield from shown
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001  # as above
            self._failure = told(error, self.objects.redact)
        if self._failure is None or isinstance(self._failure, Exception):
            rest = redacts.rest()
            self._hold()
            yield from rest

    async def bring_values(self, name: str) -> None:
        """Let the answer to this request show the values that the vault has of an answer of that name."""
        await self._copy_values(name, values_ref(self._ref or ""), within=None)

    async def keep_values(self, name: str, answer: str) -> None:
        """Keep the values of `answer` in the vault under a name, for a second delivery of what it answers."""
        await self._copy_values(values_ref(self._ref or ""), name, within=answer)

    async def _copy_values(self, source: str, target: str, *, within: str | None) -> None:
        if self._ref is None:
            return
        try:
            values = await self._guard.vault.avalues(source)
            found = {each: value for each, value in values.items() if within is None or each in within}
            if found:
                await self._guard.vault.ahold(target, found)
        except Exception as error:  # noqa: BLE001  # placeholders stay
            failed("hold", error)

    def raise_failure(self) -> None:
        """Raise what the run ended with, if it failed, with no trace of what it came from."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def redacted(self, redact: Callable[[Any], Any], value: Any) -> Any:
        """Return what `redact` makes of a value that is no event; its values go to the vault first."""
        (copy,) = await self._aredacted(lambda each: [redact(each)], value)
        return copy

    async def _aredacted(self, redact: Callable[[Any], list[Any]], event: Any) -> list[Any]:
        shown = await asyncio.to_thread(redact, event) if _is_large(event) else redact(event)
        new = self.objects.texts.taken()
        if new and self._ref is not None:
            try:
                await self._guard.vault.ahold(values_ref(self._ref), new)
            except Exception as error:  # noqa: BLE001  # placeholders stay
                failed("hold", error)
        return shown

    def _hold(self) -> None:
        new = self.objects.texts.taken()
        if new and self._ref is not None:
            try:
                self._guard.vault.hold(values_ref(self._ref), new)
            except Exception as error:  # noqa: BLE001  # as above
                failed("hold", error)

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


def _is_large(value: Any) -> bool:
    """Whether a value has so much text that redacting it would keep others waiting."""
    left = INLINE_CHARS
    waiting = [value]
    while waiting and left > 0:
        each = waiting.pop()
        left -= len(each) if isinstance(each, str) else 10
        if isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, (list, tuple, set)):
            waiting += each
        elif isinstance(each, BaseMessage):
            waiting += (each.content, each.additional_kwargs, getattr(each, "artifact", None))
        elif hasattr(each, "__dict__"):
            waiting += vars(each).values()
    return left <= 0
