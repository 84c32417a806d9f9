"""What long-term memory is searched with in a turn."""

from __future__ import annotations

import asyncio

from discreet.nodes.masking import TurnMask
from discreet.nodes.media import for_model
from discreet.nodes.node import State, messages_in, read
from discreet.nodes.turn import query_text, turn_start
from discreet.state.conversation import Request
from discreet.state.media import TRANSCRIPT_MARK


async def query_of(
    state: State, mask: TurnMask, *, messages_key: str = "messages", request_key: str = "request"
) -> str:
    """Return the newest user message; of a recording what was said in it, redacted, as far as the turn's vault has it.

    The gate and the retrieval both embed exactly this, so that the second finds the vector of the first in the cache.
    """
    messages = messages_in(state, messages_key)
    start = turn_start(messages)
    if start is None:
        return ""
    request: Request | None = read(state, request_key)
    if request is not None and "said" in request and request["modality"] == "text":
        return request["said"]
    turn, said = await mask.turn(messages), messages[start]
    if not turn.is_masked or (request is not None and request["modality"] != "text"):
        (said,) = turn.real([said])
        words = str(for_model(said.content, able=())).replace(TRANSCRIPT_MARK, "").strip()
        return await asyncio.to_thread(mask.as_kept, words)
    return query_text(messages)
