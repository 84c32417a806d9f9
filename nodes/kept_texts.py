"""What is kept of a conversation beyond its state: texts redacted, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from discreet.ports import TextRedactor
from discreet.redaction.blocks import redact_blocks
from discreet.redaction.clean_texts import digest_of
from discreet.state.message_text import spoken_blocks

MAX_CHARS = 5_000_000
"""Of redacted texts that are remembered."""

T = TypeVar("T")


class KeptTexts:
    """Remembers, by digest, what became of texts of conversations: a history is not redacted anew in every turn.

    Thread-safe as a dict is: what two threads do at once is at worst done twice.
    """

    def __init__(self, max_chars: int = MAX_CHARS) -> None:
        self._texts: dict[bytes, str] = {}
        self._chars = 0
        self._max_chars = max_chars

    def __repr__(self) -> str:
        return f"KeptTexts({len(self._texts)} texts)"

    def message(self, thread: str | None, message: BaseMessage, redactor: TextRedactor) -> BaseMessage:
        """Return what is kept of a message: its id, whose it is, and its redacted text, of a model's without its reasoning."""
        blocks = spoken_blocks(message)
        digest = digest_of(thread or "", *blocks)
        text = self._texts.get(digest)
        if text is None:
            text = redact_blocks(blocks, redactor)
            if self._chars > self._max_chars:
                self._texts, self._chars = {}, 0
            self._texts[digest] = text
            self._chars += len(text)
        kind = HumanMessage if isinstance(message, HumanMessage) else AIMessage
        return kind(text, id=message.id)


class Lazily(Sequence[T], Generic[T]):
    """A sequence whose items are made when they are asked for, once."""

    def __init__(self, items: Sequence[Any], make: Callable[[Any], T]) -> None:
        self._items = items
        self._make = make
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        """Return one item, or some of them."""
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        if place not in self._made:
            self._made[place] = self._make(self._items[place])
        return self._made[place]
