"""Know a message that is delivered again: networks repeat requests, and people press a key twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast, get_args
from uuid import uuid4

from langchain_core.messages import BaseMessage, HumanMessage

from discreet.errors import InputError
from discreet.metrics import duplicate_deliveries
from discreet.nodes.media import split_message
from discreet.nodes.run import Run
from discreet.nodes.short_term import tolerant
from discreet.ports import Claim, Done, Running, ShortTermStore, Started, Work, WorkKind
from discreet.redaction.placeholder_key import keyed_digest
from discreet.state.message_text import joined

DELIVERY: Final = "delivery"
"""Key in `response_metadata` of an answer that no run of its own gave; its value is `repeated` or `still_working`. Streams name
it as the node that such an answer comes from."""

REQUEST_WINDOW = 3.0
"""Seconds from the first arrival. Webhooks repeat within two, and nobody says the same twice on purpose within three."""
AUDIO_LEASE = 180.0
"""Seconds: three times the worst case of speech recognition, model, speech synthesis and search (55 s)."""
AUDIO_KEEP = 86_400.0
"""Seconds that the answer to a recording is kept: messengers deliver for a day."""
QUEUED_KEEP = 3_600.0
"""Seconds that the turn of a message is held on a server, and then its answer kept: deliveries stand in the server's queue meanwhile."""
BEGIN_LEASE = 10.0
"""Seconds within which a run that begins has said so."""
BEGUN_KEEP = AUDIO_LEASE
"""Seconds after which a run that began, and has not answered, is taken for dead: a server that was killed may have forgotten it."""
QUEUED_WAIT = 20.0
"""Seconds for which a second delivery that runs beside the first waits for its answer before it asks for patience."""

AGAIN: Final = "again:"
"""Begins the name that a delivery gets which is not the first."""
HOLDS: Final = "/"
"""Stands in a name before what proves that the turn of the message is the bearer's."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A message, as it is known again."""

    work: Work
    lease: float
    """Seconds for which others are told to wait."""
    keep: float | None
    """Seconds for which its answer is kept after that; None: for the rest of the lease."""


class Deliveries:
    """Claims messages in the short-term store, so that each is answered once. Without the store every delivery is answered."""

    def __init__(self, short_term: ShortTermStore | None, *, max_media_bytes: int) -> None:
        """Claim in `short_term`; None claims nothing."""
        self._short_term = short_term
        self._max_media_bytes = max_media_bytes

    async def claim(self, run: Run, message: BaseMessage | None) -> tuple[Delivery | None, Claim | None]:
        """Return what `message` is known by and whose it is; None where it can't be claimed."""
        if self._short_term is None or not isinstance(message, HumanMessage):
            return None, None
        # In a thread: payloads are hashed, and the first call reads the key.
        delivery = await asyncio.to_thread(delivery_of, run, message, max_media_bytes=self._max_media_bytes)
        if delivery is None:
            return None, None
        claim = await self._claim(delivery)
        if claim is not None and not isinstance(claim, Started):
            duplicate_deliveries.labels(delivery.work.kind, type(claim).__name__.lower()).inc()
        return delivery, claim

    async def name(self, delivery: Delivery) -> str | None:
        """Return the name under which all deliveries of a message find its answer, while they still come in.

        That of one that is not the first begins with `AGAIN`. None where nothing can be claimed.
        """
        if self._short_term is None:
            return None
        for _ in range(3):  # who came first has not said its name yet
            claim = await self._claim(delivery)
            if isinstance(claim, Started):
                shared = f"{delivery.work.kind}:{uuid4()}"
                turn = await self._claim(_turn(delivery.work.user_id, shared))
                if not isinstance(turn, Started):
                    return None
                name = f"{shared}{HOLDS}{turn.token}"
                call = self._short_term.finish(delivery.work, claim.token, name, keep=delivery.keep)
                return name if await tolerant("finish", call, otherwise=False) else None
            if isinstance(claim, Done):
                return AGAIN + claim.answer
            if claim is None:
                return None
            await asyncio.sleep(0.05)
        return None

    async def claim_named(self, user_id: str, name: str, run_id: str) -> tuple[Delivery | None, Claim | None]:
        """Return whose turn the deliveries of that `name` are.

        It is that of the run which begins first: of the others one may never begin. It stays that run's, in whatever process and however
        often it is begun anew, until it has answered or failed, or `BEGUN_KEEP` is over. Others wait for the answer, for `QUEUED_WAIT`.
        """
        shared, _, token = name.removeprefix(AGAIN).partition(HOLDS)
        kind = shared.partition(":")[0]
        if self._short_term is None or kind not in get_args(WorkKind):
            return None, None
        delivery = _turn(user_id, shared)
        deadline = asyncio.get_running_loop().time() + QUEUED_WAIT
        while isinstance(claim := await self._claim(delivery), Running):
            if await self._begins(delivery, run_id):
                return delivery, Started(token)
            if asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(0.1)
        if claim is not None and not isinstance(claim, Started):
            duplicate_deliveries.labels(kind, type(claim).__name__.lower()).inc()
        return delivery, claim

    async def _begins(self, delivery: Delivery, run_id: str) -> bool:
        """Return whether of the runs of a message this is the one that began first."""
        assert self._short_term is not None  # as in `_claim`
        work = replace(delivery.work, ref=f"{delivery.work.ref}:begun")
        claim = await self._claim(Delivery(work=work, lease=BEGIN_LEASE, keep=BEGUN_KEEP))
        if not isinstance(claim, Started):
            return claim == Done(run_id)
        call = self._short_term.finish(work, claim.token, run_id, keep=BEGUN_KEEP)
        return await tolerant("finish", call, otherwise=False)

    async def _claim(self, delivery: Delivery) -> Claim | None:
        assert self._short_term is not None  # who calls has looked
        claim: Claim | None = await tolerant(
            "claim", self._short_term.claim(delivery.work, lease=delivery.lease), otherwise=None
        )
        return claim

    async def finish(self, delivery: Delivery | None, claim: Claim | None, answer: str) -> None:
        """Keep the answer for further deliveries, if the claim still is the caller's."""
        if self._short_term is not None and delivery is not None and isinstance(claim, Started):
            call = self._short_term.finish(delivery.work, claim.token, answer, keep=delivery.keep)
            await tolerant("finish", call, otherwise=False)

    async def release(self, delivery: Delivery | None, claim: Claim | None) -> None:
        """Give the message back, so that its next delivery is answered."""
        if self._short_term is not None and delivery is not None and isinstance(claim, Started):
            await tolerant("release", self._short_term.release(delivery.work, claim.token), otherwise=False)


def _turn(user_id: str, name: str) -> Delivery:
    """Return the turn that all deliveries of a message share. It may stand in a queue for long."""
    kind = cast("WorkKind", name.partition(":")[0])
    keep = AUDIO_KEEP if kind == "audio" else QUEUED_KEEP
    return Delivery(work=Work(kind=kind, user_id=user_id, ref=name), lease=QUEUED_KEEP, keep=keep)


def delivery_of(
    run: Run,
    message: HumanMessage,
    *,
    max_media_bytes: int,
    window: float = REQUEST_WINDOW,
    about: Mapping[str, Any] | None = None,
) -> Delivery | None:
    """Return what `message` is known by; None if nobody says it, or it can't be taken.

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
        return Delivery(work=work, lease=AUDIO_LEASE, keep=AUDIO_KEEP)
    said = {**whose, "thread": run.thread_id, "text": joined(texts), "media": hashes}
    return Delivery(work=Work(kind="request", user_id=run.user_id, ref=_ref(said)), lease=window, keep=None)


def _ref(what: Mapping[str, Any]) -> str:
    return keyed_digest("discreet deliveries", what).hex()
