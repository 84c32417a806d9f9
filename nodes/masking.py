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
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from discreet.metrics import vault_failures
from discreet.nodes.run import describe_run
from discreet.nodes.turn import turn_start
from discreet.ports import Masking, TextRedactor, ThreadAware, TurnVault
from discreet.redaction import resolve
from discreet.redaction.configured import default_redactor
from discreet.redaction.vault import default_vault
from discreet.redaction.walker import redact_object

logger = logging.getLogger(__name__)

MAX_RESULT_CHARS = 2_000
"""Of a tool's result this much stands in the state, redacted; redacting 20 kB takes 8 to 23 ms. The model gets all of it."""

CUT = " …"

_ORIGINAL = "message:"
_KEPT_METADATA = frozenset({"model_name", "model_provider", "finish_reason", "stop_reason"})


@dataclass(frozen=True, kw_only=True)
class TurnMask:
    """Masks and resolves the messages of threads. One for all nodes of a graph, or each its own over the same vault."""

    redactor: TextRedactor = field(default_factory=default_redactor)
    """Puts placeholders; one that implements `Masking` for a thread also lets their values be put back."""
    vault: TurnVault = field(default_factory=default_vault)
    """Holds what the running turns said."""
    clean: CleanTexts = field(default_factory=lambda: CleanTexts(), repr=False)  # noqa: PLW0108  # defined below
    """Texts that were redacted before; a thread's history need not be read again in every turn."""

    async def turn(self, messages: Sequence[BaseMessage]) -> MaskedTurn:
        """Return the running turn of `messages` with what the vault has of it."""
        thread_id = describe_run().thread_id
        start = turn_start(messages)
        key = turn_key(thread_id, None if start is None else messages[start].id)
        own = {m.id for m in messages[start:]} if start is not None else set()
        return MaskedTurn(self, key, thread_id or key, own=own, held=await self._held(key))

    async def _held(self, key: str) -> dict[str, str]:
        try:
            return await self.vault.avalues(key)
        except Exception as error:  # noqa: BLE001  # placeholders stay, whatever a foreign vault raises
            failed("values", error)
            return {}


class MaskedTurn:
    """One turn: what goes into the state, and what comes out for the model and the tools."""

    def __init__(self, mask: TurnMask, key: str, thread: str, *, own: set[str | None], held: dict[str, str]) -> None:
        redactor = mask.redactor
        self._redactor = redactor.for_thread(thread) if isinstance(redactor, ThreadAware) else redactor
        self._vault = mask.vault
        self._clean = mask.clean
        self._key = key
        self._thread = thread
        self._own = own
        self._held = held
        self._new: dict[str, str] = {}

    async def masked(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return copies for the state, each with an id; what they said goes to the vault first.

        Nothing raw is returned if the vault fails.
        """
        given = [m if m.id else m.model_copy(update={"id": str(uuid4())}) for m in messages]
        copies = await asyncio.to_thread(lambda: [self._copy(message) for message in given])
        if self._new:
            new, self._new = self._new, {}
            self._held.update(new)
            try:
                await self._vault.ahold(self._key, new)
            except Exception as error:  # noqa: BLE001  # as above: the turn goes on with placeholders
                failed("hold", error)
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
        shown = "\n".join(str(message.text) for message in messages)
        values = {key: value for key, value in self._held.items() if not key.startswith(_ORIGINAL) and key in shown}
        try:
            await self._vault.adrop(self._key)
            if values:
                await self._vault.ahold(self._key, values)
        except Exception as error:  # noqa: BLE001  # its TTL ends it
            failed("drop", error)

    def _copy(self, message: BaseMessage) -> BaseMessage:
        if self._clean.has(self._thread, message):
            return message
        # What the turn's user or a tool says may forge a tag. The history has tags of ours, and the model repeats them.
        trusted = isinstance(message, AIMessage) or message.id not in self._own
        redactor = _Collecting(self._redactor, {**self._held, **self._new}, trusted=trusted)
        copy = _stored(message, redactor)
        self._new.update(redactor.values)
        if copy != message:
            self._hold(message)
        self._clean.add(self._thread, copy)
        return copy

    def _hold(self, message: BaseMessage) -> None:
        original = _dumped(message)
        if original is not None:
            self._new.setdefault(_ORIGINAL + str(message.id), original)

    def _original(self, message: BaseMessage) -> BaseMessage:
        held = self._held.get(_ORIGINAL + str(message.id))
        if held is not None:
            return message.model_copy(update=json.loads(held))
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


class CleanTexts:
    """Knows, by digest, the last texts that came out of the redactor of a thread. Thread-safe."""

    def __init__(self, size: int = 10_000) -> None:
        self._size = size
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, thread: str, message: BaseMessage) -> bool:
        """Whether `message` is text only, and the text is known."""
        digest = self._digest(thread, message)
        with self._lock:
            known = digest in self._digests
            if known and digest is not None:
                self._digests.move_to_end(digest)
            return known

    def add(self, thread: str, message: BaseMessage) -> None:
        """Know `message` from now on, if it is text only."""
        digest = self._digest(thread, message)
        if digest is None:
            return
        with self._lock:
            self._digests[digest] = None
            if len(self._digests) > self._size:
                self._digests.popitem(last=False)

    @staticmethod
    def _digest(thread: str, message: BaseMessage) -> bytes | None:
        if not isinstance(message, HumanMessage | AIMessage) or not isinstance(message.content, str):
            return None
        if message.additional_kwargs or message.name or (isinstance(message, AIMessage) and message.tool_calls):
            return None
        return hashlib.blake2b(f"{thread}\0{message.content}".encode("utf-8", "replace"), digest_size=16).digest()


class _Collecting:
    """A redactor that keeps the values it takes."""

    def __init__(self, redactor: TextRedactor, known: Mapping[str, str], *, trusted: bool) -> None:
        self._redactor = redactor
        self._known = known
        self._trusted = trusted
        self.values: dict[str, str] = {}

    def redact(self, text: str) -> str:
        if not isinstance(self._redactor, Masking):
            return self._redactor.redact(text)
        masked, values = self._redactor.mask(text, {**self._known, **self.values}, trusted=self._trusted)
        self.values.update(values)
        return masked


def turn_key(thread_id: str | None, message_id: str | None) -> str:
    """Return what the vault knows a turn by: a digest, so that it may stand in a key of Redis."""
    return hashlib.sha256(json.dumps([thread_id, message_id]).encode()).hexdigest()


def failed(doing: str, error: Exception) -> None:
    """Say that the vault failed; the turn goes on with placeholders."""
    cause = type(error).__name__
    vault_failures.labels(cause).inc()
    logger.warning("turn_vault_failed doing=%s cause=%s", doing, cause)


def _stored(message: BaseMessage, redactor: TextRedactor) -> BaseMessage:
    """Return what stands in the state of a message: its kind, id and redacted text; of the model the redacted calls too."""
    text = str(message.text)
    if isinstance(message, HumanMessage):
        return HumanMessage(redactor.redact(text), id=message.id, name=message.name and redactor.redact(message.name))
    if isinstance(message, AIMessage):
        return AIMessage(
            redactor.redact(text),
            id=message.id,
            name=message.name,
            tool_calls=[{**call, "args": redact_object(call["args"], redactor)} for call in message.tool_calls],
            invalid_tool_calls=[
                {**call, "args": redactor.redact(call["args"] or ""), "error": None}
                for call in message.invalid_tool_calls
            ],
            usage_metadata=message.usage_metadata,
            response_metadata={k: v for k, v in message.response_metadata.items() if k in _KEPT_METADATA},
        )
    if isinstance(message, ToolMessage):
        shown = redactor.redact(text[:MAX_RESULT_CHARS]) + (CUT if len(text) > MAX_RESULT_CHARS else "")
        return ToolMessage(
            shown,
            id=message.id,
            name=message.name,
            tool_call_id=message.tool_call_id,
            status=message.status,
            artifact=redact_object(message.artifact, redactor),
        )
    redacted: BaseMessage = redact_object(message, redactor)
    return redacted.model_copy(update={"id": message.id})


def _dumped(message: BaseMessage) -> str | None:
    """Return what `_original` puts back, as JSON; None if it holds something that JSON doesn't."""
    fields: dict[str, Any] = {"content": message.content, "additional_kwargs": message.additional_kwargs}
    if isinstance(message, AIMessage):
        fields |= {
            "tool_calls": message.tool_calls,
            "invalid_tool_calls": message.invalid_tool_calls,
            "response_metadata": message.response_metadata,
        }
    try:
        return json.dumps(fields)
    except (TypeError, ValueError):
        logger.warning("message_not_held kind=%s", message.type)
        return None
