"""Placeholders in the state, real values for the model and the tools.

While a turn runs, its messages stand in the state redacted. What they said is in the turn's vault: the messages
themselves, so that a model gets back exactly what it wrote (signed reasoning, for example), and the values by
placeholder. What the vault has lost stays a placeholder.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage

from discreet.metrics import vault_failures
from discreet.nodes.clean_texts import CleanTexts
from discreet.nodes.message_copies import dumped, redacted_copy, restored
from discreet.nodes.run import describe_run
from discreet.nodes.turn import turn_start
from discreet.ports import TextRedactor, ThreadAware, TurnVault
from discreet.redaction import resolve
from discreet.redaction.collecting import CollectingRedactor
from discreet.redaction.configured import default_redactor
from discreet.redaction.vault import default_vault
from discreet.state.request_ref import values_ref

logger = logging.getLogger(__name__)

_ORIGINAL = "message:"


@dataclass(frozen=True, kw_only=True)
class TurnMask:
    """Masks and resolves the messages of threads. One for all nodes of a graph, or each its own over the same vault."""

    redactor: TextRedactor = field(default_factory=default_redactor)
    """Puts placeholders; one that implements `Masking` for a thread also lets their values be put back."""
    vault: TurnVault = field(default_factory=default_vault)
    """Holds what the running turns said."""
    clean: CleanTexts = field(default_factory=CleanTexts, repr=False)
    """Texts that were redacted before; a thread's history need not be read again in every turn."""

    async def turn(self, messages: Sequence[BaseMessage]) -> MaskedTurn:
        """Return the running turn of `messages` with what the vault has of it."""
        run = describe_run()
        start = turn_start(messages)
        key = turn_key(run.thread_id, None if start is None else messages[start].id)
        own = {m.id for m in messages[start:]} if start is not None else set()
        held = await self._held(key)
        return MaskedTurn(self, key, run.thread_id or key, own=own, held=held, request_ref=run.request_ref)

    async def _held(self, key: str) -> dict[str, str]:
        try:
            return await self.vault.avalues(key)
        except Exception as error:  # noqa: BLE001  # placeholders stay, whatever a foreign vault raises
            failed("values", error)
            return {}


class MaskedTurn:
    """One turn: what goes into the state, and what comes out for the model and the tools."""

    def __init__(
        self,
        mask: TurnMask,
        key: str,
        thread: str,
        *,
        own: set[str | None],
        held: dict[str, str],
        request_ref: str | None = None,
    ) -> None:
        redactor = mask.redactor
        self._redactor = redactor.for_thread(thread) if isinstance(redactor, ThreadAware) else redactor
        self._vault = mask.vault
        self._clean = mask.clean
        self._key = key
        self._thread = thread
        self._own = own
        self._held = held
        self._new: dict[str, str] = {}
        self._request_ref = request_ref

    async def masked(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return copies for the state, each with an id; what they said goes to the vault first.

        Nothing raw is returned if the vault fails.
        """
        given = [m if m.id else m.model_copy(update={"id": str(uuid4())}) for m in messages]
        copies = await asyncio.to_thread(lambda: [self._copy(message) for message in given])
        if self._new:
            new, self._new = self._new, {}
            self._held.update(new)
            await self._hold_in_vault(self._key, new)
        if self._request_ref is not None:
            await self._hold_in_vault(values_ref(self._request_ref), self._shown(copies))
        return copies

    def keep(self, original: BaseMessage) -> None:
        """Give the model `original` in the place of the message of its id that `masked` returns next."""
        self._hold(original)

    def real(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return the messages as they were before they were masked, as far as the vault knows."""
        return [self._original(message) for message in messages]

    def text(self, text: str) -> str:
        """Return `text` with the values of this turn put back."""
        return resolve(text, self._held)

    async def end(self, messages: Iterable[BaseMessage]) -> None:
        """Forget the turn but for the values that `messages` show, which its owner may be shown for the vault's TTL."""
        try:
            await self._vault.adrop(self._key)
        except Exception as error:  # noqa: BLE001  # its TTL ends it
            failed("drop", error)
        else:
            await self._hold_in_vault(self._key, self._shown(messages))

    async def _hold_in_vault(self, turn: str, values: Mapping[str, str]) -> None:
        if not values:
            return
        try:
            await self._vault.ahold(turn, values)
        except Exception as error:  # noqa: BLE001  # the turn goes on with placeholders, whatever a foreign vault raises
            failed("hold", error)

    def _shown(self, messages: Iterable[BaseMessage]) -> dict[str, str]:
        """Return the values by placeholder that redacted `messages` show."""
        shown = "\n".join(str(message.text) for message in messages)
        return {key: value for key, value in self._held.items() if not key.startswith(_ORIGINAL) and key in shown}

    def _copy(self, message: BaseMessage) -> BaseMessage:
        if self._clean.has(self._thread, message):
            return message
        # What the turn's user or a tool says may forge a tag. The history has tags of ours, and the model repeats them.
        trusted = isinstance(message, AIMessage) or message.id not in self._own
        redactor = CollectingRedactor(self._redactor, {**self._held, **self._new}, trusted=trusted)
        copy = redacted_copy(message, redactor)
        self._new.update(redactor.values)
        if copy != message:
            self._hold(message)
        self._clean.add(self._thread, copy)
        return copy

    def _hold(self, message: BaseMessage) -> None:
        original = dumped(message)
        if original is not None:
            self._new.setdefault(_ORIGINAL + str(message.id), original)

    def _original(self, message: BaseMessage) -> BaseMessage:
        held = self._held.get(_ORIGINAL + str(message.id))
        if held is not None:
            return restored(message, held)
        update: dict[str, Any] = {}
        if isinstance(message.content, str) and (text := self.text(message.content)) != message.content:
            update["content"] = text
        if isinstance(message, AIMessage) and message.tool_calls:
            update["tool_calls"] = [{**call, "args": self._resolved(call["args"])} for call in message.tool_calls]
        return message.model_copy(update=update) if update else message

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self._resolved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        return value


def turn_key(thread_id: str | None, message_id: str | None) -> str:
    """Return what the vault knows a turn by: a digest, so that it may stand in a key of Redis."""
    return hashlib.sha256(json.dumps([thread_id, message_id]).encode()).hexdigest()


def failed(doing: str, error: Exception) -> None:
    """Say that the vault failed; the turn goes on with placeholders."""
    cause = type(error).__name__
    vault_failures.labels(cause).inc()
    logger.warning("turn_vault_failed doing=%s cause=%s", doing, cause)
