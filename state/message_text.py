"""What a message says: its text, whose content may be a list of blocks, and whose it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, convert_to_messages

from discreet.state.media import media_texts
from discreet.state.reasoning import without_reasoning

MADE_BY: Final = "lc_source"
"""LangChain's mark on a human message that a middleware wrote (`langchain_core.messages.notification`)."""
SUMMARIZATION: Final = "summarization"
"""What stands under the mark of a summary of messages that it has replaced."""

_SEAM: Final = "\n\0"
"""Stands between blocks while reasoning is taken out. No stored text has a NUL."""
_SEAMS: Final = re.compile("\n?\0")


def is_summary(message: object) -> bool:
    """Return whether `message` is a middleware's summary of messages that it has replaced."""
    return isinstance(message, HumanMessage) and message.additional_kwargs.get(MADE_BY) == SUMMARIZATION


def is_persons(message: object) -> bool:
    """Return whether `message` is a human message that no middleware is known to have written."""
    return isinstance(message, HumanMessage) and MADE_BY not in message.additional_kwargs


TEXT_TYPES: Final = frozenset({"text", "input_text", "output_text"})
"""Types of blocks of words: LangChain's, and those of OpenAI's Responses API, which clients pass on."""


def words_of(content: Any) -> list[str]:
    """Return the texts of a message's content without its media: itself, or of a list its strings and blocks of text. None is empty."""
    if isinstance(content, str):
        return [str.__str__(content)] if content else []
    found = (
        block.get("text") if isinstance(block, dict) and block.get("type") in TEXT_TYPES else block
        for block in (content if isinstance(content, list | tuple) else ())
    )
    return [str.__str__(text) for text in found if isinstance(text, str) and text]


def text_blocks(content: Any) -> list[str]:
    """Return the texts of a message's content, in OpenAI's forms too, and behind them what stands for its media.

    Example:
        >>> text_blocks(["Hello", {"type": "text", "text": "Ann"}, {"type": "image", "url": "…"}])
        ['Hello', 'Ann', '[image]']
    """
    texts = words_of(content)
    if isinstance(content, str):
        return texts
    is_said = any(not text.isspace() for text in texts)
    media = media_texts(content, alone=not is_said)
    return [*texts, *media] if is_said or not media else media


def joined(texts: Iterable[str]) -> str:
    r"""Return texts as one, with a line break between two that no white space parts.

    What ends one of them, such as a number, does not run into what the next begins with.

    Example:
        >>> joined(["Summarise this.", "Chapter one"])
        'Summarise this.\nChapter one'
    """
    text = ""
    for each in texts:
        parts = not text or not each or text[-1].isspace() or each[0].isspace()
        text += each if parts else f"\n{each}"
    return text


def text_of(message: BaseMessage) -> str:
    """Return the text of a message. LangChain's `message.text` puts its blocks together with nothing between them."""
    content: Any = message.content
    return str.__str__(content) if isinstance(content, str) else joined(text_blocks(content))


def spoken_blocks(message: BaseMessage) -> list[str]:
    """Return the texts of a message, of a model's without its reasoning, which may go on from one block into the next."""
    blocks = text_blocks(message.content)
    if not isinstance(message, AIMessage):
        return blocks
    spoken = without_reasoning(_SEAM.join(text.replace("\0", "") for text in blocks))
    return [text for text in _SEAMS.split(spoken) if text and not text.isspace()] or media_texts(message.content)


def spoken_text(message: BaseMessage) -> str:
    """Return the text of a message, of a model's without its reasoning."""
    return joined(spoken_blocks(message))


def as_content(texts: Sequence[str]) -> Any:
    """Return texts as the content of a message: one as it is, several as blocks."""
    return [{"type": "text", "text": text} for text in texts] if len(texts) > 1 else "".join(texts)


Item = TypeVar("Item")

ROLES: Final[Mapping[str, type[HumanMessage | AIMessage]]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
}
_PAIR: Final = 2


def as_spoken(message: Item) -> Item | HumanMessage | AIMessage:
    """Return a `ChatMessage` of the user's or the model's role as the message that it is, under its id; anything else itself.

    Example:
        >>> as_spoken(ChatMessage(role="user", content="Hello")).type
        'human'
    """
    if not isinstance(message, ChatMessage) or (made := ROLES.get(message.role.lower())) is None:
        return message
    return made(
        message.content,
        id=message.id,
        name=message.name,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
    )


def all_spoken(items: Sequence[Any]) -> Sequence[Any]:
    """Return what a channel holds with its messages as those that they are; dicts and pairs of role and text, too.

    A reducer of one's own, such as `operator.add`, leaves them as they came. Beside what can't be a message they are data, and stay.
    """
    if not {*map(type, items)} & {ChatMessage, dict, tuple, list}:
        return items
    spoken = [*map(_spoken, items)]
    return spoken if all(isinstance(each, BaseMessage | str) for each in spoken) else [*map(as_spoken, items)]


def _spoken(item: Any) -> Any:
    is_pair = isinstance(item, tuple | list) and len(item) == _PAIR and all(isinstance(each, str) for each in item)
    if not is_pair and not (isinstance(item, dict) and "content" in item):
        return as_spoken(item)
    try:
        (message,) = convert_to_messages([tuple(item) if is_pair else item])
    except (
        ValueError,
        TypeError,
        KeyError,
        NotImplementedError,
    ):  # what it raises for a role or a shape that it doesn't know
        return item
    return as_spoken(message)
