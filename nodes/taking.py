"""What of the messages that came in a turn is about, and what stays of those before it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from discreet.checkpoint.answers import is_answer
from discreet.checkpoint.messages import without_dead_calls
from discreet.errors import EmptyInputError, InputError
from discreet.nodes.input_check import InputCheck, newest
from discreet.nodes.masking import TurnMask
from discreet.nodes.media import summarize_all
from discreet.nodes.refused import without_refused
from discreet.nodes.system_messages import is_past
from discreet.nodes.turn import turn_start, unanswered
from discreet.ports import Media, MediaSummarizer
from discreet.providers.media import GivenSummarizer
from discreet.state.conversation import Request
from discreet.state.message_text import as_content
from discreet.state.text import storable


@dataclass(frozen=True)
class Taken:
    """What a turn begins with."""

    message: HumanMessage
    """As the user sent it."""
    texts: Sequence[str]
    """Of its blocks."""
    media: Sequence[Media]
    summaries: Sequence[str]
    before: Sequence[BaseMessage]
    """What stays of the thread before it."""

    def said(self, message_id: str) -> HumanMessage:
        """Return the message as text."""
        return _as_text(self.message, self.texts, self.media, self.summaries, message_id)


@dataclass(kw_only=True)
class Taking:
    """Takes messages or refuses them."""

    check: InputCheck
    mask: TurnMask
    summarizer: MediaSummarizer | None
    _given: GivenSummarizer = field(init=False)

    def __post_init__(self) -> None:
        """Make what summarises without a model."""
        self._given = GivenSummarizer(self.mask.redactor)

    async def newest(self, messages: Sequence[BaseMessage], request: Request | None) -> Taken:
        """Return what the turn is about; `request` is the one that began before it, if that turn has not ended.

        Raises:
            InputError: It can't be taken.
        """
        left = await without_refused(self.mask, messages)
        message = _users_message(left, request)
        left = [each for each in left if not is_past(each, message.id)]
        if request is not None and request.get("waits"):
            left = [each for each in without_dead_calls(left, None) if not _is_traffic(each)]
        waiting = [each for each in unanswered(left) if each is not message]
        texts, media = await self._checked(message)
        summaries = await summarize_all(media, self.summarizer or self._given, self._given)
        kept = {id(each): await self._left_over(each) for each in waiting}
        before = [now for each in left if each is not message and (now := kept.get(id(each), each)) is not None]
        return Taken(message, texts, media, summaries, before)

    async def _checked(self, message: HumanMessage) -> tuple[list[str], list[Media]]:
        """Return texts and media of a message; payloads are hashed in a thread."""
        if isinstance(message.content, str):
            return self.check.message(message)
        return await asyncio.to_thread(self.check.message, message)

    async def _left_over(self, message: BaseMessage) -> BaseMessage | None:
        """Return what stays of a message that has no answer; None if it can't be taken.

        No model is asked about its media: what nothing is told of was refused.
        """
        if not isinstance(message, HumanMessage):
            return message if isinstance(message, SystemMessage) else None
        try:
            texts, media = await self._checked(message)
            summaries = await summarize_all(media, self._given, self._given)
        except InputError:
            return None
        return _as_text(message, texts, media, summaries, message.id)


def _is_traffic(message: BaseMessage) -> bool:
    """Whether `message` is of the tools of the turn before, which waited for a result and goes on no more."""
    return isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(message.tool_calls))


def _users_message(messages: Sequence[BaseMessage], request: Request | None) -> HumanMessage:
    """Return the message that is to be answered: the newest.

    A retry under the id of a message whose turn failed finds what that turn had done behind it.

    Raises:
        EmptyInputError: There is no message.
        UnsupportedInputError: The newest message is not the user's.
    """
    if not messages:
        raise EmptyInputError
    message = messages[turn_start(messages) or 0]
    is_retry = request is not None and request["message_id"] == message.id and not is_answer(messages[-1])
    return message if is_retry and isinstance(message, HumanMessage) else newest(messages)


def _as_text(
    message: HumanMessage,
    texts: Sequence[str],
    media: Sequence[Media],
    summaries: Sequence[str],
    message_id: str | None,
) -> HumanMessage:
    """Return what is kept of a message: its texts, and the summaries, marked as such unless one is all there is.

    Several stay blocks, so that each is redacted by itself.
    """
    marked = [f"[{item.modality}] {summary}" for item, summary in zip(media, summaries, strict=True)]
    kept = list(map(storable, [*texts, *marked] if texts or len(summaries) != 1 else summaries))
    return message if [message.content] == kept else HumanMessage(as_content(kept), id=message_id)
