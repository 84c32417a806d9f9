"""The running turn, as the nodes share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from uuid import uuid4

from langchain_core.messages import BaseMessage

from discreet.ports import Media
from discreet.state.conversation import Request
from discreet.state.media import MediaMeta


def new_request(
    message: BaseMessage, media: Sequence[Media] = (), redact: Callable[[str], str] = lambda text: text
) -> Request:
    """Return a turn with an id of its own that begins now with the user's `message` and its `media`.

    `redact` sees to the labels of media, which are the caller's own words.
    """
    request = Request(
        request_id=str(uuid4()),
        message_id=message.id or str(uuid4()),
        modality=media[0].modality if media else "text",
        started_at=datetime.now(UTC).isoformat(),
    )
    if media:
        request["media"] = [_redacted(item.meta, redact) for item in media]
    return request


def _redacted(meta: MediaMeta, redact: Callable[[str], str]) -> MediaMeta:
    labels = MediaMeta()
    if "imageType" in meta:
        labels["imageType"] = redact(meta["imageType"])
    if "tags" in meta:
        labels["tags"] = [redact(tag) for tag in meta["tags"]]
    return {**meta, **labels}
