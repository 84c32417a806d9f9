"""What stands in the state of a message, and what the vault holds of it."""

from __future__ import annotations

import json
import logging
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from discreet.nodes.provenance import MADE
from discreet.ports import TextRedactor
from discreet.redaction.blocks import joined_safely, redact_blocks
from discreet.redaction.walker import redact_object
from discreet.state.message_text import MADE_BY, SUMMARIZATION, is_summary, spoken_blocks, text_blocks

logger = logging.getLogger(__name__)

MAX_RESULT_CHARS: Final = 1_000
"""Of a tool's result this much stands in the state; redacting 20 kB takes 8 to 23 ms. The model gets all of it."""

HELD: Final = ("content", "additional_kwargs", "tool_calls", "invalid_tool_calls", "response_metadata")
"""What a model gets back of its messages as it wrote them, signed reasoning for example."""

KEPT_METADATA: Final = frozenset({"model_name", "model_provider", "finish_reason", "stop_reason", MADE})


def redacted_copy(message: BaseMessage, redactor: TextRedactor, *, whole: bool = False) -> BaseMessage:
    """Return what stands in the state of a message: its kind, id and redacted text; of the model the redacted calls too.

    What the model wrote in its text while it reasoned is left out, and of a tool's result all but its beginning unless it is to be `whole`.
    """
    if isinstance(message, HumanMessage):
        text = redact_blocks(text_blocks(message.content), redactor)
        mark = {MADE_BY: SUMMARIZATION} if is_summary(message) else {}
        name = message.name and redactor.redact(message.name)
        return HumanMessage(text, id=message.id, name=name, additional_kwargs=mark)
    if isinstance(message, AIMessage):
        return AIMessage(
            redact_blocks(spoken_blocks(message), redactor),
            id=message.id,
            name=message.name,
            tool_calls=[{**call, "args": redact_object(call["args"], redactor)} for call in message.tool_calls],
            invalid_tool_calls=[
                {**call, "args": redactor.redact(call["args"] or ""), "error": None}
                for call in message.invalid_tool_calls
            ],
            usage_metadata=message.usage_metadata,
            response_metadata={k: v for k, v in message.response_metadata.items() if k in KEPT_METADATA},
        )
    if isinstance(message, ToolMessage):
        text = joined_safely(text_blocks(message.content), redactor)
        return ToolMessage(
            redactor.redact(text) if whole else _beginning(text, redactor),
            id=message.id,
            name=message.name,
            tool_call_id=message.tool_call_id,
            status=message.status,
            artifact=redact_object(message.artifact, redactor),
        )
    redacted: BaseMessage = redact_object(message, redactor)
    return redacted.model_copy(update={"id": message.id})


def _beginning(text: str, redactor: TextRedactor) -> str:
    return redactor.redact(text[:MAX_RESULT_CHARS]) + (" …" if len(text) > MAX_RESULT_CHARS else "")


def dumped(message: BaseMessage, copy: BaseMessage) -> str | None:
    """Return what `restored` puts back where `copy` stands, as JSON; None if the message holds something that JSON doesn't."""
    fields = {name: getattr(message, name) for name in HELD if hasattr(message, name)}
    try:
        return json.dumps([_says(copy), fields])
    except (TypeError, ValueError):
        logger.warning("message_not_held kind=%s", message.type)
        return None


def restored(copy: BaseMessage, held: str) -> BaseMessage | None:
    """Return the message of which `held` was dumped; None if `copy` is no longer what stood for it: somebody changed it."""
    stood, fields = json.loads(held)
    return copy.model_copy(update=fields) if stood == _says(copy) else None


def _says(copy: BaseMessage) -> list[Any]:
    return [copy.content, getattr(copy, "tool_calls", None)]
