"""Redact what comes in by a WebSocket of the event protocol, and restore what goes out on it."""

from __future__ import annotations

import asyncio
import json

from starlette.types import Message, Receive, Send

from discreet.access.actor import current_actor
from discreet.api.actors import Denials
from discreet.api.ingress.answers import Restoring
from discreet.api.ingress.bodies import UserOf, rewritten
from discreet.api.ingress.dedup import StoredMessages, mark, refuse_reused
from discreet.api.ingress.inputs import ChecksOf
from discreet.api.ingress.refusals import REFUSALS, Refusal
from discreet.api.ingress.routes import Kind
from discreet.api.ingress.vaulting import hold
from discreet.errors import AccessError, BodyTooLargeError
from discreet.graph.deliveries import Deliveries
from discreet.ports import TextRedactor, TurnVault


class CommandSocket:
    """One connection: commands in, answers and events out."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        *,
        denials: Denials,
        deliveries: Deliveries,
        dedup_seconds: float,
        stored: StoredMessages | None,
        thread: str | None,
        user: UserOf | None,
        redactor: TextRedactor,
        vault: TurnVault,
        checks: ChecksOf,
        restore: bool,
        max_bytes: int,
    ) -> None:
        self._receive = receive
        self._send = send
        self._denials = denials
        self._deliveries = deliveries
        self._dedup_seconds = dedup_seconds
        self._stored = stored
        self._thread = thread
        self._user = user
        self._redactor = redactor
        self._vault = vault
        self._checks = checks
        self._restoring = Restoring(vault, [], {}) if restore else None
        self._max_bytes = max_bytes

    async def receive(self) -> Message:
        """Return the next message as it may be stored. One that is refused is answered here, and goes no further."""
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            text = message.get("text")
            raw = text if text is not None else (message.get("bytes") or b"")
            try:
                written = await self._rewritten(raw)
            except REFUSALS as refusal:
                await self._refuse(refusal)
            else:
                return {"type": "websocket.receive", "text": written.decode()}

    async def send(self, message: Message) -> None:
        """Send `message` on, restored if it is one of the protocol's."""
        if self._restoring is not None and message["type"] == "websocket.send" and message.get("text"):
            message = {**message, "text": await self._restoring.text(message["text"])}
        await self._send(message)

    async def _rewritten(self, raw: str | bytes) -> bytes:
        if len(raw) > self._max_bytes:
            raise BodyTooLargeError(self._max_bytes)
        clean = await asyncio.to_thread(
            rewritten,
            raw,
            Kind.COMMAND,
            thread=self._thread,
            redactor=self._redactor,
            user=self._user,
            checks=self._checks,
            dedup_seconds=self._dedup_seconds,
        )
        await refuse_reused(clean.begins, self._stored, self._redactor)
        await mark(self._deliveries, clean.body, clean.delivery, thread=self._thread)
        await hold(self._vault, clean)
        if self._restoring is not None:
            self._restoring.knows(clean.parts, clean.values)
        return await asyncio.to_thread(clean.as_json)

    async def _refuse(self, refusal: Refusal) -> None:
        if isinstance(refusal, AccessError):
            await self._denials.tell(refusal, current_actor())
        error = {"type": "error", "id": None, "error": refusal.code, "message": str(refusal)}
        await self._send({"type": "websocket.send", "text": json.dumps(error)})
