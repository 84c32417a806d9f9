"""Read what a streamed turn of the template says, for those who show it while it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from discreet.state.message_text import text_of

if TYPE_CHECKING:
    from uuid import UUID


def piece_of(event: Any) -> str:
    """Return the piece of the answer that an event of the mode `messages` brings; empty if it is of something else."""
    message, about = event
    if isinstance(message, AIMessageChunk) and about.get("langgraph_node") == "assistant":
        return str(message.text)
    return ""


def answer_of(update: Any) -> str:
    """Return what `persist_filtered` keeps as the answer, given its part of an event of the mode `updates`; empty if nothing."""
    messages: list[BaseMessage] = update.get("messages", []) if isinstance(update, dict) else []
    return text_of(messages[-1]) if messages and isinstance(messages[-1], AIMessage) else ""


class PromptWatch(AsyncCallbackHandler):
    """Tells what the chat model of the template is asked, with the real values; what small models are asked beside it is none of this.

    Example:
        >>> prompts = []
        >>> config = {"callbacks": [PromptWatch(prompts.append)]}
    """

    def __init__(self, tell: Callable[[Sequence[BaseMessage]], object]) -> None:
        """Call `tell` with the messages of each prompt."""
        self._tell = tell

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take the messages of one call."""
        if (metadata or {}).get("langgraph_node") == "assistant":
            self._tell(messages[0])
