"""Message ids as they may be stored: a client's own where they tell nothing, else a keyed digest of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any
from uuid import UUID, uuid4

from langchain_core.messages import BaseMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from discreet.redaction.id_forms import is_id

ENGINE_ID = re.compile(r"((lc_)?run-{1,2})?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-\d{1,3})?", re.IGNORECASE)
"""A UUID, alone or as LangChain writes a run's messages: `lc_run--<uuid>-0`."""

SAFE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
"""What an id that stays is made of."""

ANSWER = "-answer"
"""What the id of an answer ends with that stands for a tool's result, after the id of that result."""

Redact = Callable[[str], str]


def safe_id(message_id: str | None, redact: Redact | None = None) -> str | None:
    """Return `message_id` if it may be stored, else a UUID derived from it with the placeholder key.

    It may if it has at most 64 characters of `[A-Za-z0-9_.:-]` and `redact`, by default the process's redactor, finds nothing
    in it. Pure and idempotent, and the same in all processes of one key, so that a client may go on using its own id.
    """
    if message_id is None or message_id == REMOVE_ALL_MESSAGES or ENGINE_ID.fullmatch(message_id):
        return message_id
    if message_id.endswith(ANSWER):
        return f"{safe_id(message_id.removesuffix(ANSWER), redact)}{ANSWER}"
    if SAFE_ID.fullmatch(message_id):
        if is_id(message_id):
            return message_id
        if (redact or _default_redact())(message_id) == message_id:
            return message_id
    return _derived(message_id)


def take_ids(written: Any, redact: Redact, *, there: AbstractSet[str | None] = frozenset()) -> None:
    """Make the ids of messages that a caller hands over those that are stored, and give message objects that lack one an id.

    As LangGraph's `add_messages` does a step later: so the message that is stored with the input is the one that is stored
    with the turn, and client, state and rows agree on its id. Those of messages that are `there`, as another saver has
    stored them, stay until they are stored here: else they would be two.
    """
    for message in written if isinstance(written, (list, tuple)) else [written]:
        if isinstance(message, BaseMessage) and (not message.id or message.id not in there):
            message.id = safe_id(message.id, redact) if message.id else str(uuid4())
        elif isinstance(message, dict) and isinstance(given := message.get("id"), str) and given not in there:
            taken = safe_id(given, redact) if given else None
            if taken != given:  # a caller's dict is changed only where its id must not stay
                message["id"] = taken


def _derived(message_id: str) -> str:
    # Imported here because making or reading the key touches the data folder, and most ids stay as they are.
    from discreet.redaction.placeholder_key import keyed_digest

    return str(UUID(bytes=keyed_digest("message id", {"id": message_id})))


def _default_redact() -> Redact:
    # Imported here because its tables take a while to load, and most ids are known by their form.
    from discreet.redaction.configured import default_redactor

    return default_redactor().redact
