"""What the nodes need from outside, as protocols. Adapters live in `storage` and `providers`, fakes in `testing`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable
from uuid import UUID

from discreet.errors import ConfigurationError
from discreet.state.media import MediaMeta, Modality
from discreet.state.records import MemoryFilters, MemoryRecord, ScoredMemory, TurnRecord


class TextRedactor(Protocol):
    """Replaces sensitive values in a text by placeholders."""

    def redact(self, text: str) -> str:
        """Return `text` with a placeholder for each sensitive value. Pure and idempotent."""
        ...


@runtime_checkable
class ThreadAware(Protocol):
    """A redactor whose placeholders can tell the values of one thread apart."""

    def for_thread(self, thread_id: str) -> TextRedactor:
        """Return the redactor of one thread."""
        ...


def of_thread(redactor: TextRedactor, thread_id: str | None) -> TextRedactor:
    """Return the redactor for what stays in a thread; `redactor` itself if there is no thread or it knows none."""
    return redactor.for_thread(thread_id) if thread_id and isinstance(redactor, ThreadAware) else redactor


class TurnVault(Protocol):
    """Remembers, while a turn runs, which value a placeholder stands for.

    It must not log, must not outlive the turn by more than its TTL, and may lose a turn at any time: its placeholders are
    shown as they are then. Blocking methods are for threads and scripts, the `a…` ones for an event loop.
    """

    def hold(self, turn: str, values: Mapping[str, str]) -> None:
        """Add `values`, tagged placeholder -> value, to those of `turn`. A placeholder keeps the value it had first."""
        ...

    def values(self, turn: str) -> dict[str, str]:
        """Return all values of `turn`; none if it is unknown, over, or lost."""
        ...

    def drop(self, turn: str) -> None:
        """Forget `turn`. One that is not there is no error."""
        ...

    async def ahold(self, turn: str, values: Mapping[str, str]) -> None:
        """Do what `hold` does without blocking the event loop."""
        ...

    async def avalues(self, turn: str) -> dict[str, str]:
        """Do what `values` does without blocking the event loop."""
        ...

    async def adrop(self, turn: str) -> None:
        """Do what `drop` does without blocking the event loop."""
        ...


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Maps a model's cosine to the common scale of thresholds, on which 0.6 means "about the same thing".

    Cosines of different models bunch at different values, so a threshold is meaningless without this. The map is the
    straight line through two measured points, clipped to 0…1. A question is less near to its answer than a paraphrase
    is, so where one line has to serve search (0.6) and dedup (0.85, 0.95), `zero` may lie below every cosine there is.
    """

    zero: float
    """The cosine at which the line reaches 0."""
    one: float
    """The cosine of texts that say the same: 1 on the common scale."""

    def similarity(self, cosine: float) -> float:
        """Return `cosine` on the common scale, 0 to 1."""
        return min(1.0, max(0.0, (cosine - self.zero) / (self.one - self.zero)))


class EmbeddingProvider(Protocol):
    """Turns texts into vectors. Blocking methods are for threads and scripts, the `a…` ones for an event loop."""

    @property
    def name(self) -> str:
        """`provider:model:dims`; vectors of different names are never compared."""
        ...

    @property
    def dims(self) -> int:
        """Length of every vector."""
        ...

    @property
    def calibration(self) -> Calibration:
        """How this model's cosines read."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question: `dims` floats.

        Raises:
            ProviderError: The model failed or could not be reached.
        """
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the unit vectors of texts to be found, in their order. An empty text gets a vector too."""
        ...

    async def aembed_query(self, text: str) -> list[float]:
        """Do what `embed_query` does without blocking the event loop."""
        ...

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Do what `embed_documents` does without blocking the event loop."""
        ...


class Memories(Protocol):
    """Long-term memory of all users; every call is scoped to one."""

    async def save(self, user_id: str, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Redact, embed and store `records` in one transaction; return them as stored.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: Nothing was stored.
        """
        ...

    async def search(
        self,
        user_id: str,
        query: str,
        *,
        limit: int = 5,
        threshold: float | None = None,
        filters: MemoryFilters | None = None,
    ) -> list[ScoredMemory]:
        """Return at most `limit` memories of `user_id`, best first. A blank query finds nothing.

        `threshold` applies to the calibrated similarity; a memory that shares a word with the query is exempt.
        """
        ...

    async def get(self, user_id: str, entry_id: UUID) -> MemoryRecord | None:
        """Return one memory of `user_id`, superseded or not; None if there is none of that id."""
        ...

    async def latest(
        self,
        user_id: str,
        *,
        limit: int = 50,
        filters: MemoryFilters | None = None,
        older_than: UUID | None = None,
    ) -> list[MemoryRecord]:
        """Return at most `limit` memories of `user_id`, newest first, after the entry `older_than` if given."""
        ...

    async def delete(self, user_id: str, entry_id: UUID) -> bool:
        """Delete one memory of `user_id`; False if there is none of that id."""
        ...

    async def delete_many(self, user_id: str, filters: MemoryFilters) -> int:
        """Delete the memories of `user_id` that `filters` select, superseded ones too; return how many."""
        ...


class ConversationLog(Protocol):
    """The redacted turns and the sessions they belong to."""

    async def append(self, turn: TurnRecord) -> bool:
        """Store one turn and touch its session record; False if `request_id` was stored before."""
        ...


@dataclass(frozen=True, kw_only=True)
class Media:
    """One voice or image payload of a message, in RAM only."""

    modality: Modality
    meta: MediaMeta
    block: dict[str, object]
    """The content block as the caller sent it."""
    given: str | None = None
    """Transcript or caption that came along."""


@runtime_checkable
class MediaSummarizer(Protocol):
    """Says in one to three sentences what a recording or an image holds."""

    async def summarize(self, media: Media) -> str:
        """Return 1–3 sentences.

        Raises:
            MediaSummaryUnavailableError: There is nothing to make a summary from.
        """
        ...


KEY_BYTES = 32
"""Length of a key: AES-256."""
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Key:
    """A key for AES-256-GCM. Its secret is not shown.

    Raises:
        ConfigurationError: The id is not 1 to 64 of A-Z a-z 0-9 . _ - or the secret not 32 bytes.
    """

    id: str
    """Stored beside each value that it seals."""
    secret: bytes = field(repr=False)
    """32 random bytes."""

    def __post_init__(self) -> None:
        if not _KEY_ID.fullmatch(self.id) or len(self.secret) != KEY_BYTES:
            raise ConfigurationError(f"A key needs an id of 1 to 64 of A-Z a-z 0-9 . _ - and {KEY_BYTES} bytes.")


class KeyProvider(Protocol):
    """Knows the keys that values are sealed with. Asked on the event loop: it answers from RAM."""

    def current(self) -> Key:
        """Return the key for what is sealed from now on."""
        ...

    def find(self, key_id: str) -> Key | None:
        """Return a key by its id; None if it is not known, or no longer."""
        ...
