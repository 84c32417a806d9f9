"""Know a message that is delivered again: networks repeat requests, and people press a key twice."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from discreet.errors import InputError, ThreadBusyError
from discreet.graph.streams import DELIVERY
from discreet.metrics import duplicate_deliveries
from discreet.nodes.background_tasks import BackgroundTasks
from discreet.nodes.media import split_message
from discreet.nodes.run import Run
from discreet.nodes.short_term import tolerant
from discreet.ports import Claim, Done, Running, ShortTermStore, Started, Work
from discreet.prompts.texts import render_reply
from discreet.redaction.placeholder_key import keyed_digest
from discreet.state.message_text import joined, text_of

REPEATED: Final = {DELIVERY: "repeated"}

REQUEST_WINDOW = 3.0
"""Seconds from the first arrival. Webhooks repeat within two, and nobody says the same twice on purpose within three."""
TURN_LEASE = 180.0
"""Seconds: three times the worst case of speech recognition, model, speech synthesis and search (55 s). A turn that takes longer
is taken for dead."""
ANSWER_KEEP = 86_400.0
"""Seconds that the answer to a recording is kept: messengers deliver for a day."""
WAIT_SECONDS: Final = 20.0
"""How long a turn waits for another one of its thread, or of its message: proxies and people wait for 30."""
LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A message, as it is known again."""

    work: Work
    lease: float
    """Seconds for which others are told to wait."""
    keep: float | None
    """Seconds for which its answer is kept after that; None: for the rest of the lease."""


@dataclass
class Turn:
    """A turn that was claimed."""

    claim: Claim | None = None
    """None where nothing is claimed: every delivery runs."""
    answer: str | None = field(default=None, repr=False)
    """What is kept for further deliveries, redacted. None: the claim is given back, so that the next delivery runs."""
    begun: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    over: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    waits: bool = False
    """Whether the turn waits for a person: its claim is neither kept nor given back, and ends with its lease."""


class Deliveries:
    """Claims turns in the short-term store, so that each message is answered once. Without the store every delivery runs."""

    def __init__(self, short_term: ShortTermStore | None) -> None:
        """Claim in `short_term`; None claims nothing."""
        self._short_term = short_term
        self._holders = BackgroundTasks(limit=sys.maxsize)

    @asynccontextmanager
    async def turn(self, delivery: Delivery | None, *, patience: float = 0.0) -> AsyncGenerator[Turn]:
        """Claim `delivery`, waiting for whoever has it for `patience` seconds; at the end keep its answer or give it back."""
        turn = Turn()
        if self._short_term is None or delivery is None:
            yield turn
            return
        hold = partial(self._hold, self._short_term, delivery, patience, turn)
        holder = self._holders.start(object(), hold)  # a task of its own ends the claim, however this one ends
        assert holder is not None  # as many as there are turns
        try:
            await turn.begun.wait()
            yield turn
        finally:
            turn.over.set()
            await asyncio.shield(holder)

    async def _hold(self, short_term: ShortTermStore, delivery: Delivery, patience: float, turn: Turn) -> None:
        now = asyncio.get_running_loop().time
        until, work = now() + patience, delivery.work
        while True:
            claim = await tolerant("claim", short_term.claim(work, lease=delivery.lease), otherwise=None)
            if not isinstance(claim, Running) or turn.over.is_set() or now() >= until:
                break
            await asyncio.sleep(LOOK_SECONDS)
        turn.claim = claim
        turn.begun.set()
        await turn.over.wait()
        if not isinstance(claim, Started):
            return
        if turn.answer is not None:
            keep = short_term.finish(work, claim.token, turn.answer, keep=delivery.keep)
            await tolerant("finish", keep, otherwise=False)
        elif not turn.waits:
            await tolerant("release", short_term.release(work, claim.token), otherwise=False)

    @asynccontextmanager
    async def thread(self, run: Run, *, patience: float = WAIT_SECONDS) -> AsyncGenerator[None]:
        """Hold the thread of `run` for a turn: of two that read the same state, one would be lost from it.

        Without a thread, a user or a store that answers nothing is held.

        Raises:
            ThreadBusyError: Other turns had it for `patience` seconds.
        """
        delivery = None
        if run.thread_id is not None and run.user_id is not None:
            delivery = Delivery(work=thread_work(run.user_id, run.thread_id), lease=TURN_LEASE, keep=None)
        async with self.turn(delivery, patience=patience) as turn:
            if isinstance(turn.claim, Running):
                raise ThreadBusyError
            yield

    async def first_name(self, delivery: Delivery, name: str) -> str:
        """Return the name under which `delivery` came first, `name` if it is the first."""
        async with self.turn(delivery, patience=LOOK_SECONDS) as turn:  # who came first has not said its name yet
            if isinstance(turn.claim, Done):
                return turn.claim.answer
            turn.answer = name
        return name


def reply_to(claim: Done | Running, said: Sequence[BaseMessage]) -> AIMessage:
    """Return what a message gets whose turn is another delivery's: the answer of that, or a request for patience."""
    if isinstance(claim, Done):
        return AIMessage(claim.answer, response_metadata=REPEATED)
    text = render_reply("still_working", text_of(said[-1]) if said else "")
    return AIMessage(text, response_metadata={DELIVERY: "still_working"})


def count(delivery: Delivery | None, claim: Claim | None) -> None:
    """Count a message that was delivered again."""
    if delivery is not None and isinstance(claim, Done | Running):
        duplicate_deliveries.labels(delivery.work.kind, type(claim).__name__.lower()).inc()


def thread_work(user_id: str, thread_id: str) -> Work:
    """Return what the turns of a thread are claimed as; the thread's name can't be read from it."""
    return Work(kind="call", user_id=user_id, ref=keyed_digest("discreet thread turns", {"thread": thread_id}).hex())


def delivery_of(
    run: Run,
    message: HumanMessage,
    *,
    max_media_bytes: int,
    window: float = REQUEST_WINDOW,
    about: Mapping[str, Any] | None = None,
) -> Delivery | None:
    """Return what `message` is known by; None if nobody says it, or it can't be taken. It hashes payloads: call it in a thread.

    A recording is known by its SHA-256, in whatever thread; all else by thread, text and media, for `window` seconds. Each
    application and agent has answers of its own, and so has what differs in `about`, JSON. No text can be read
    from it: it is an HMAC under the placeholder key, which all processes share.
    """
    if run.user_id is None:
        return None
    try:
        texts, media = split_message(message, max_bytes=max_media_bytes)
    except InputError:
        return None  # the graph refuses it with the same error
    whose = {"user": run.user_id, "app": run.context.app_name, "agent": run.context.agent_id, **(about or {})}
    hashes = [item.meta.get("sha256") or item.given or "" for item in media]
    if not any(map(str.strip, texts)) and len(media) == 1 and media[0].modality == "voice" and hashes[0]:
        work = Work(kind="audio", user_id=run.user_id, ref=_ref({**whose, "audio": hashes[0]}))
        return Delivery(work=work, lease=TURN_LEASE, keep=ANSWER_KEEP)
    said = {**whose, "thread": run.thread_id, "text": joined(texts), "media": hashes}
    return Delivery(work=Work(kind="request", user_id=run.user_id, ref=_ref(said)), lease=window, keep=None)


def _ref(what: Mapping[str, Any]) -> str:
    return keyed_digest("discreet deliveries", what).hex()
