"""Know a message that is delivered again: networks repeat requests, and people press a key twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from discreet.errors import InputError
from discreet.metrics import duplicate_deliveries
from discreet.nodes.media import split_message
from discreet.nodes.run import Run
from discreet.nodes.short_term import tolerant
from discreet.ports import Claim, ShortTermStore, Started, Work
from discreet.redaction.placeholder_key import keyed_digest

REQUEST_WINDOW = 3.0
"""Seconds from the first arrival. Webhooks repeat within two, and nobody says the same twice on purpose within three."""
AUDIO_LEASE = 180.0
"""Seconds: three times the worst case of speech recognition, model, speech synthesis and search (55 s)."""
AUDIO_KEEP = 86_400.0
"""Seconds that the answer to a recording is kept: messengers deliver for a day."""


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
        call = self._short_term.claim(delivery.work, lease=delivery.lease)
        claim: Claim | None = await tolerant("claim", call, otherwise=None)
        if claim is not None and not isinstance(claim, Started):
            duplicate_deliveries.labels(delivery.work.kind, type(claim).__name__.lower()).inc()
        return delivery, claim

    async def finish(self, delivery: Delivery | None, claim: Claim | None, answer: str) -> None:
        """Keep the answer for further deliveries, if the claim still is the caller's."""
        if self._short_term is not None and delivery is not None and isinstance(claim, Started):
            call = self._short_term.finish(delivery.work, claim.token, answer, keep=delivery.keep)
            await tolerant("finish", call, otherwise=False)

    async def release(self, delivery: Delivery | None, claim: Claim | None) -> None:
        """Give the message back, so that its next delivery is answered."""
        if self._short_term is not None and delivery is not None and isinstance(claim, Started):
            await tolerant("release", self._short_term.release(delivery.work, claim.token), otherwise=False)


def delivery_of(run: Run, message: HumanMessage, *, max_media_bytes: int) -> Delivery | None:
    """Return what `message` is known by; None if nobody says it, or it can't be taken.

    A recording is known by its SHA-256, in whatever thread; all else by thread, text and media. Each application and agent
    has answers of its own. No text can be read
    from it: it is an HMAC under the placeholder key, which all processes share.
    """
    if run.user_id is None:
        return None
    try:
        text, media = split_message(message, max_bytes=max_media_bytes)
    except InputError:
        return None  # the graph refuses it with the same error
    whose = {"user": run.user_id, "app": run.context.app_name, "agent": run.context.agent_id}
    hashes = [item.meta.get("sha256") or item.given or "" for item in media]
    if not text.strip() and len(media) == 1 and media[0].modality == "voice" and hashes[0]:
        work = Work(kind="audio", user_id=run.user_id, ref=_ref({**whose, "audio": hashes[0]}))
        return Delivery(work=work, lease=AUDIO_LEASE, keep=AUDIO_KEEP)
    said = {**whose, "thread": run.thread_id, "text": text, "media": hashes}
    return Delivery(work=Work(kind="request", user_id=run.user_id, ref=_ref(said)), lease=REQUEST_WINDOW, keep=None)


def _ref(what: Mapping[str, Any]) -> str:
    return keyed_digest("discreet deliveries", what).hex()
