"""The rolling summary of a thread, and what makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class SpokenRound:
    """One round of a thread as a summary is made from it, redacted."""

    said: str
    answered: str


@dataclass(frozen=True, kw_only=True)
class RollingSummary:
    """What a thread's first rounds come to."""

    text: str = ""
    """Redacted."""
    rounds: int = 0
    """How many rounds of the thread it covers, from the first: the cursor."""
    last_message_id: str | None = None
    """Id of the answer that ends the last round covered. It tells the summary of this branch of a thread from another's."""
    is_readable: bool = True
    """Whether its encryption key is known. One that isn't readable has no text, and is made anew in its place."""


class RollingSummaries(Protocol):
    """Keeps one rolling summary a thread, durably. A thread without a user has one too."""

    async def get(self, user_id: str | None, thread_id: str) -> RollingSummary:
        """Return the summary; an empty one if there is none.

        Raises:
            StorageError: It could not be read.
        """
        ...

    async def commit(
        self, user_id: str | None, thread_id: str, *, expected: RollingSummary, new: RollingSummary
    ) -> bool:
        """Put `new` in the place of `expected`; False, and nothing is stored, if another one stands there.

        Compared are cursor and last message (compare-and-swap).

        Raises:
            StorageError: Nothing was stored.
        """
        ...

    async def forget(self, user_id: str | None, thread_id: str) -> bool:
        """Delete the summary of a thread; False if there is none."""
        ...


class SummaryProvider(Protocol):
    """Makes a short text of rounds."""

    async def summarize(self, rounds: Sequence[SpokenRound], *, earlier: str = "", max_tokens: int = 200) -> str:
        """Return what `rounds` come to in at most about `max_tokens` tokens, in the language that they are in.

        `earlier` is the summary of what was said before them, for context; it is not repeated. Without rounds, `earlier`
        itself is made shorter.

        Raises:
            ProviderError: The model failed.
        """
        ...
