"""The running turn, as the nodes share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

from langchain_core.messages import BaseMessage

from discreet.access.epochs import Beginning
from discreet.checkpoint.message_ids import safe_id
from discreet.nodes.run import Run
from discreet.ports import Media
from discreet.redaction.placeholder_key import keyed_digest
from discreet.state.conversation import Request
from discreet.state.media import MediaMeta


def request_id_of(user_id: str | None, thread_id: str | None, message_id: str | None) -> str:
    """Return the id of the turn that the user's message of that id begins in their thread.

    It is the same whenever it is asked for, so that a stored conversation tells which of its rounds were forgotten. It is a
    keyed digest, under the placeholder key: logs and metrics may have it. Without a thread or an id it is random.
    """
    if thread_id is None or message_id is None:
        return str(uuid4())
    said = {"user": user_id, "thread": thread_id, "message": safe_id(message_id)}
    return str(UUID(bytes=keyed_digest("discreet requests", said)))


def new_request(
    message: BaseMessage,
    run: Run,
    media: Sequence[Media] = (),
    redact: Callable[[str], str] = lambda text: text,
) -> Request:
    """Return the turn of `run` that begins now with the user's `message` and its `media`.

    `redact` sees to the labels of media, which are the caller's own words.
    """
    request = Request(
        request_id=request_id_of(run.user_id, run.thread_id, message.id),
        message_id=message.id or str(uuid4()),
        modality=media[0].modality if media else "text",
        started_at=datetime.now(UTC).isoformat(),
    )
    if media:
        request["media"] = [_redacted(item.meta, redact) for item in media]
    return request


def beginning_of(request: object) -> Beginning | None:
    """Return under what the work of a turn began, as far as its request says so."""
    told = request.get("began") if isinstance(request, Mapping) else None
    try:
        return Beginning.of(told) if isinstance(told, str) else None
    except ValueError:  # somebody else's
        return None


def _redacted(meta: MediaMeta, redact: Callable[[str], str]) -> MediaMeta:
    labels = MediaMeta()
    if "imageType" in meta:
        labels["imageType"] = redact(meta["imageType"])
    if "tags" in meta:
        labels["tags"] = [redact(tag) for tag in meta["tags"]]
    return {**meta, **labels}
