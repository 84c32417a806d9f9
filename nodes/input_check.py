"""What a turn takes, told before it runs: the limits of `save_input`, for it and for whoever stands in front of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, ToolMessage, convert_to_messages

from discreet.checkpoint.run_input import orphans
from discreet.errors import EmptyInputError, InputTooLargeError, UnsupportedInputError
from discreet.nodes.media import split_message
from discreet.ports import Media
from discreet.state.message_text import as_spoken, joined
from discreet.state.text import storable


@dataclass(frozen=True)
class InputCheck:
    """The limits of one graph."""

    max_chars: int
    """Longest text taken, transcripts included."""
    max_media_bytes: int
    """Largest payload taken."""
    messages_key: str = "messages"
    """Key of the messages in the graph's input."""

    def message(self, message: HumanMessage) -> tuple[list[str], list[Media]]:
        """Return the texts of a user's message and its media. It hashes payloads: run it in a thread.

        Raises:
            InputError: The message is empty, too large or of a type that can't be taken.
        """
        texts, media = split_message(message, max_bytes=self.max_media_bytes)
        size = len(joined(texts)) + sum(len(item.transcript or "") for item in media)
        if size > self.max_chars:
            raise InputTooLargeError(size, self.max_chars)
        texts = list(map(storable, texts))
        if not media and not any(char.isprintable() and not char.isspace() for text in texts for char in text):
            raise EmptyInputError
        return texts, media

    def input(self, given: Any, *, goes_on: bool = True) -> None:
        """Refuse the input of a run whose newest message would be refused in it.

        What can only be told with the state at hand passes: no messages, some that remove others, or the result of a call, if the
        run `goes_on` with what is in its thread.

        Raises:
            InputError: As `message`, or the newest message is not the user's.
        """
        messages = messages_of(given.get(self.messages_key)) if isinstance(given, Mapping) else []
        if not messages or any(isinstance(message, RemoveMessage) for message in messages):
            return
        if isinstance(messages[-1], ToolMessage) and (goes_on or not orphans(messages)):
            return
        self.message(newest(messages))


def newest(messages: Sequence[BaseMessage]) -> HumanMessage:
    """Return the newest message.

    Raises:
        UnsupportedInputError: It is not the user's.
    """
    if not isinstance(messages[-1], HumanMessage):
        raise UnsupportedInputError(
            "The newest message is not the user's. Send a human message, under an id that none of the thread has."
        )
    return messages[-1]


def messages_of(said: Any) -> list[BaseMessage]:
    """Return what an input has as its messages: a list of them or one, in any of LangChain's ways, or None.

    Raises:
        UnsupportedInputError: It is none of these.
    """
    if said is None:
        return []
    try:
        return [*map(as_spoken, convert_to_messages(said if isinstance(said, list) else [said]))]
    except Exception:  # noqa: BLE001  # it raises whatever its parts do, and quotes the message: not chained
        raise UnsupportedInputError from None
