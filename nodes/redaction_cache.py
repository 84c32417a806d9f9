"""Texts that were redacted before, known by their digests."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from discreet.redaction.clean_texts import CleanTexts, digest_of


class RedactionCache:
    """Knows, by digest, the last texts that came out of the redactor of a thread."""

    def __init__(self, size: int = 10_000) -> None:
        self._texts = CleanTexts(size)

    def has(self, thread: str, message: BaseMessage) -> bool:
        """Whether `message` is text only, and the text is known."""
        digest = _digest(thread, message)
        return digest is not None and self._texts.has(digest)

    def add(self, thread: str, message: BaseMessage) -> None:
        """Know `message` from now on, if it is text only."""
        digest = _digest(thread, message)
        if digest is not None:
            self._texts.add(digest)


def _digest(thread: str, message: BaseMessage) -> bytes | None:
    if isinstance(message, ToolMessage):
        is_text = isinstance(message.content, str) and message.artifact is None and not message.additional_kwargs
        return digest_of(thread, str(message.content)) if is_text else None
    if not isinstance(message, HumanMessage | AIMessage) or not isinstance(message.content, str):
        return None
    if message.additional_kwargs or message.name or (isinstance(message, AIMessage) and message.tool_calls):
        return None
    return digest_of(thread, message.content)
