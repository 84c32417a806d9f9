"""The running turn, as the nodes share it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from langchain_core.messages import BaseMessage

from discreet.ports import Media
from discreet.state.conversation import Request


def new_request(message: BaseMessage, media: Sequence[Media] = ()) -> Request:
    """Return a turn with an id of its own that begins now with the user's `message` and its `media`."""
    request = Request(
        request_id=str(uuid4()),
        message_id=message.id or str(uuid4()),
        modality=media[0].modality if media else "text",
        started_at=datetime.now(UTC).isoformat(),
    )
    if media:
        request["media"] = [item.meta for item in media]
    return request
