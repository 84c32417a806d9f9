"""Placeholders in the state where somebody else stores it, real values for the model and the tools.

Under one of our checkpointers, or none, the state holds what was said: what is written is redacted where it is written. Under
anybody else's, and on a server, the messages of a running turn stand in the state redacted. What they said is in the vault then:
until the turn is over the messages themselves, so that a model gets back exactly what it wrote (signed reasoning, for example);
and for longer the values by placeholder of its thread, so that "send it there" works in the next turn. What the vault has lost
stays a placeholder.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphInterrupt

from discreet.nodes.run import Run, describe_run, is_stored_by_others, kept_tools, thread_of_run
from discreet.nodes.state_messages import dumped, redacted_copy, restored
from discreet.nodes.turn import turn_start
from discreet.ports import TextRedactor, ThreadAware, TurnVault, of_thread
from discreet.redaction import resolve, untagged
from discreet.redaction.configured import default_redactor
from discreet.redaction.message_codec import same_kind
from discreet.redaction.placeholders import TAGGED
from discreet.redaction.restoring import restore
from discreet.redaction.thread_values import TOOL_SECONDS, failed, vault_key
from discreet.redaction.value_capture import CollectingRedactor
from discreet.redaction.vault import default_vault
from discreet.redaction.walker import redact_object
from discreet.settings import load_settings
from discreet.state.message_text import text_of
from discreet.state.request_ref import values_ref


class OpenTurn:
    """A turn whose state holds what was said: nothing is masked, and nothing has to be put back."""

    is_masked = False

    async def masked(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return `messages` as the state takes them, each with an id."""
        return [m if m.id else m.model_copy(update={"id": str(uuid4())}) for m in messages]

    async def masked_value(self, value: Any, *, trusted: bool = False) -> Any:
        """Return `value` as the state takes it."""
        return value

    async def masked_pause(self, pause: GraphInterrupt) -> GraphInterrupt:
        """Return a pause as the state takes it."""
        return pause

    def real(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return the messages as they were said."""
        return list(messages)

    def resolved(self, value: Any) -> Any:
        """Return any object with the values of this thread in it."""
        return value

    def text(self, text: str) -> str:
        """Return `text` with the values of this thread in it."""
        return text

    async def end(self, messages: Iterable[BaseMessage]) -> None:
        """Forget the turn, and of its thread the values that no message shows: `messages` are what is kept of the turn."""

    async def forget(self) -> None:
        """Forget the turn and all values of its thread."""


@dataclass(frozen=True, kw_only=True)
class TurnMask:
    """Masks and resolves the messages of threads. One for all nodes of a graph, or each its own over the same vault."""

    redactor: TextRedactor = field(default_factory=default_redactor)
    """Puts placeholders; one that implements `Masking` for a thread also lets their values be put back."""
    vault: TurnVault = field(default_factory=default_vault)
    """Holds what the running turns said, and what the placeholders of threads stand for."""
    pause: float = field(default_factory=lambda: load_settings().pause_seconds)
    """Seconds that a person may take to answer: a turn that is not over keeps its values for that long at least. When it
    is over they live on for the vault's own time. Default: DISCREET_PAUSE_SECONDS."""
    masks: bool | Literal["auto"] = "auto"
    """Whether the state is masked. "auto": unless one of our checkpointers stores it, or nobody does, see `is_stored_by_others`."""

    async def turn(self, messages: Sequence[BaseMessage], *, run: Run | None = None) -> OpenTurn:
        """Return the running turn of `messages` with what the vault has of it and of its thread; `run` is the current one."""
        if not self.is_on:
            return OpenTurn()
        turn = MaskedTurn(self, run or describe_run(), messages)
        await turn.look_up()
        return turn

    @property
    def is_on(self) -> bool:
        """Whether the state of the run that asks is masked."""
        return is_stored_by_others() if self.masks == "auto" else self.masks

    def as_kept(self, text: str) -> str:
        """Return `text` as it is kept beyond the thread that says it: redacted, and without tags."""
        return untagged(of_thread(self.redactor, thread_of_run()).redact(text))


class MaskedTurn(OpenTurn):
    """A turn whose state holds placeholders: what goes into it, and what comes out for the model and the tools."""

    is_masked = True

    def __init__(self, mask: TurnMask, run: Run, messages: Sequence[BaseMessage]) -> None:
        """Know nothing of what the vault has: see `look_up`."""
        start = turn_start(messages)
        opening = None if start is None else messages[start].id
        # Without a thread and a message there is nothing that the next node knows it by, and nothing to share.
        if run.thread_id is None:  # nobody shares what has no thread with another user, whatever id their message has
            self._key = self._thread_key = vault_key("", f"{run.user_id}\0{opening or uuid4()}")
        else:
            self._key, self._thread_key = vault_key(run.thread_id, opening), vault_key(run.thread_id)
        self._thread = run.thread_id or self._key
        self._request_ref = run.request_ref
        self._earlier = messages[:start]
        self._own = {m.id for m in messages[start:]} if start is not None else set()
        self._kept_tools = kept_tools()
        self._mask = mask
        redactor = mask.redactor
        self._redactor = redactor.for_thread(self._thread) if isinstance(redactor, ThreadAware) else redactor
        self._originals: dict[str, str] = {}
        """What messages of this turn were, by id."""
        self._values: dict[str, str] = {}
        """What the placeholders of the thread stand for."""

    def __repr__(self) -> str:
        return f"MaskedTurn({len(self._values)} values)"

    async def look_up(self) -> None:
        """Ask the vault what it has."""
        if self._thread_key != self._key:
            self._originals, self._values = await asyncio.gather(self._held(self._key), self._held(self._thread_key))
        else:
            self._originals = await self._held(self._key)
            self._values = {name: value for name, value in self._originals.items() if TAGGED.fullmatch(name)}

    async def masked(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return copies for the state, each with an id; what they said goes to the vault first.

        Nothing raw is returned if the vault fails.
        """
        given = [m if m.id else m.model_copy(update={"id": str(uuid4())}) for m in messages]
        originals: dict[str, str] = {}
        known = len(self._values)
        copies = await asyncio.to_thread(lambda: [self._copy(message, originals) for message in given])
        if originals:
            self._originals |= originals
            await self._hold(self._key, originals, self._open_seconds)
        await self._hold_values(known, self._shown(copies))
        return copies

    async def masked_value(self, value: Any, *, trusted: bool = False) -> Any:
        """Return a redacted copy of any object, of its kind where that is a pydantic model or a dataclass.

        What it said goes to the vault. Tags that it brings along are dropped unless it is `trusted`, such as the model's.
        """
        redactor = self._collecting(trusted=trusted)
        known = len(self._values)
        masked = await asyncio.to_thread(redact_object, value, redactor, rebuild=same_kind)
        self._values |= redactor.values
        await self._hold_values(known, redactor.values)
        return masked

    async def masked_pause(self, pause: GraphInterrupt) -> GraphInterrupt:
        """Return a pause that asks with placeholders: a checkpointer keeps what a tool asks."""
        asked = [copy.copy(each) for each in pause.args[0]]
        for each in asked:
            each.value = await self.masked_value(each.value)
        return GraphInterrupt(asked)

    def real(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return the messages as they were before they were masked, as far as the vault knows."""
        return [self._original(message) for message in messages]

    def resolved(self, value: Any) -> Any:
        """Return any object with the values of this thread put back."""
        return restore(value, self._values)

    def text(self, text: str) -> str:
        """Return `text` with the values of this thread put back."""
        return resolve(text, self._values)

    async def end(self, messages: Iterable[BaseMessage]) -> None:
        """Forget the turn, and of its thread the values that no message shows: `messages` are what is kept of the turn.

        The rest lives for the vault's own time from now.
        """
        shown = self._shown([*self._earlier, *messages])
        await self._forget(self._key)
        if len(shown) < len(self._values) and self._thread_key != self._key:
            await self._forget(self._thread_key)
        if shown:
            await self._hold(self._thread_key, shown, None)

    async def forget(self) -> None:
        """Forget the turn and all values of its thread."""
        for key in {self._key, self._thread_key}:
            await self._forget(key)

    @property
    def _open_seconds(self) -> float:
        return self._mask.pause + TOOL_SECONDS

    async def _held(self, key: str) -> dict[str, str]:
        try:
            return await self._mask.vault.avalues(key)
        except Exception as error:  # noqa: BLE001  # placeholders stay, whatever a foreign vault raises
            failed("values", error)
            return {}

    async def _hold(self, key: str, values: Mapping[str, str], seconds: float | None) -> None:
        try:
            await self._mask.vault.ahold(key, values, seconds=seconds)
        except Exception as error:  # noqa: BLE001  # the turn goes on with placeholders, whatever a foreign vault raises
            failed("hold", error)

    async def _forget(self, key: str) -> None:
        try:
            await self._mask.vault.adrop(key)
        except Exception as error:  # noqa: BLE001  # its TTL ends it
            failed("drop", error)

    async def _hold_values(self, known: int, shown: Mapping[str, str]) -> None:
        """Hold what came after the `known` values, and all for as long as the turn may take; `shown` for its owner's answer too."""
        if self._values:
            await self._hold(self._thread_key, dict(islice(self._values.items(), known, None)), self._open_seconds)
        if self._request_ref is not None and shown:
            await self._hold(values_ref(self._request_ref), shown, None)

    def _shown(self, messages: Iterable[BaseMessage]) -> dict[str, str]:
        """Return the values by placeholder that redacted `messages` show, in their texts and calls."""
        if not self._values:
            return {}
        found = {match[0] for m in messages for match in TAGGED.finditer(f"{text_of(m)}{getattr(m, 'tool_calls', '')}")}
        return {name: self._values[name] for name in found if name in self._values}

    def _copy(self, message: BaseMessage, originals: dict[str, str]) -> BaseMessage:
        """Return what stands in the state of `message`: itself if nothing in it has to be hidden."""
        # What the turn's user or a tool says may forge a tag. The history has tags of ours, and the model repeats them.
        redactor = self._collecting(trusted=isinstance(message, AIMessage) or message.id not in self._own)
        copied = redacted_copy(message, redactor, whole=message.name in self._kept_tools)
        self._values |= redactor.values
        if copied == message:
            return message
        if (held := dumped(message, copied)) is not None:
            originals[str(message.id)] = held
        return copied

    def _collecting(self, *, trusted: bool) -> CollectingRedactor:
        return CollectingRedactor(self._redactor, self._values, trusted=trusted)

    def _original(self, message: BaseMessage) -> BaseMessage:
        held = self._originals.get(str(message.id))
        original = None if held is None else restored(message, held)
        if original is not None:
            return original
        if isinstance(message.content, str) and "<" not in message.content and not getattr(message, "tool_calls", ()):
            return message  # most of a history
        resolved: BaseMessage = self.resolved(message)
        return resolved
