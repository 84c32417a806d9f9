"""Work for models that may take hours: many prompts handed in together, at half the price, and fetched when they are done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

BatchState = Literal["running", "ended", "vanished"]
"""`ended`: nothing more will come, whether it was completed, failed, expired or was cancelled; what was answered until then can be
fetched. `vanished`: the provider knows no such batch, or keeps its results no longer."""

ResultState = Literal["succeeded", "failed", "expired", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class BatchRequest:
    """One prompt of a batch."""

    custom_id: str
    """Tells its result: at most 64 of [A-Za-z0-9_-], unique in the batch, and it says nothing about anybody."""
    instruction: str
    """What is to be done."""
    data: str = field(repr=False)
    """What it is to be done with: redacted."""
    schema: Mapping[str, Any]
    """JSON Schema of the answer: objects closed, with all properties required, as strict structured output demands."""
    schema_name: str = "answer"
    """At most 64 of [A-Za-z0-9_-]."""
    max_tokens: int = 4_000
    """Of the answer."""


@dataclass(frozen=True, kw_only=True)
class BatchStatus:
    """How far a batch is."""

    state: BatchState
    told: str = ""
    """The provider's own word for it, for people who look: never parsed."""
    error: str | None = None
    """Code of what failed the batch as a whole, if something did. No text of prompts or answers."""


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What became of one prompt."""

    custom_id: str
    state: ResultState
    text: str | None = field(default=None, repr=False)
    """The answer, JSON if the model kept to the schema; None unless it succeeded."""
    model: str | None = None
    """Which model answered, as the provider names it with its version."""
    input_tokens: int = 0
    output_tokens: int = 0
    error: str | None = None
    """Code of what failed; no text."""
    is_final: bool = False
    """Whether the same prompt would fail again: it is too long, or refused. Others are submitted anew."""


@dataclass(frozen=True, kw_only=True)
class BatchLimits:
    """What one batch may hold at most."""

    requests: int
    bytes: int
    """As they are sent."""


class BatchProvider(Protocol):
    """Hands prompts to a model provider in batches.

    Nothing is kept here: the id that `submit` returns is stored by the caller, and any other process may go on with it.
    Results come in any order, may be missing, and may come twice. Waiting for an overloaded provider (429, 5xx) is done here,
    bounded; what is raised then may succeed later.

    Raises, from every method:
        ProviderError: The provider failed, or refused. `is_passing` says whether trying later may help.
        ConfigurationError: A key is missing or was refused.
    """

    @property
    def name(self) -> str:
        """As the setting memory_extraction_provider names it."""
        ...

    @property
    def price_factor(self) -> float:
        """What a token costs here of its list price: 0.5 in batches, 1 at once, 0 without a model."""
        ...

    @property
    def limits(self) -> BatchLimits:
        """What one batch takes."""
        ...

    def size(self, request: BatchRequest, model: str) -> int:
        """Return how many bytes a request takes of `limits.bytes`. Pure."""
        ...

    async def submit(self, job_id: str, model: str, requests: Sequence[BatchRequest]) -> str:
        """Hand in a batch that fits the limits; return the provider's id of it. `job_id` is put where `find` sees it again.

        After a failure that passes it may have been taken: ask `find` before it is handed in anew.
        """
        ...

    async def find(self, job_id: str, custom_ids: Sequence[str], since: datetime) -> str | None:
        """Return the id of the batch that was submitted as `job_id` after `since`, by a process that ended before it could say so.

        None if there is none: the caller submits it then. Of several it is the newest. A provider that can't tell before a batch
        has ended raises an error that passes until then.
        """
        ...

    async def status(self, batch_id: str) -> BatchStatus:
        """Return how far it is. One that isn't there any more is a state, no error."""
        ...

    def results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Yield what became of its prompts, as it is read from the network: never all of it in memory.

        Also of a batch that expired or was cancelled: what was answered until then was paid.
        """
        ...

    async def cancel(self, batch_id: str) -> None:
        """Ask for its end; results so far stay. One that has ended or vanished is no error."""
        ...

    async def delete(self, batch_id: str) -> None:
        """Delete there what was handed in and what was answered, as far as the provider lets one. One that is gone is no error."""
        ...
