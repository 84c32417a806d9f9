"""A provider of batches in memory: no network, no client, and all that may go wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Final

from discreet.errors import ProviderError
from discreet.ports import BatchLimits, BatchRequest, BatchResult, BatchStatus, ResultState
from discreet.testing.batch_shelf import OK, BatchScript, BatchShelf, End, Outcome

_PATIENCE: Final = 3
"""Failures in a row that the real ones sit out."""

_STATES: Final[dict[End, ResultState]] = {
    "completed": "succeeded",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}
_FINAL: Final = frozenset({400, 413})


class InMemoryBatchProvider:
    """The port `BatchProvider` over a shelf; several over one stand for several processes.

    Example:
        >>> provider = InMemoryBatchProvider(str.upper)
        >>> provider.name, provider.shelf.batches
        ('memory', [])
    """

    def __init__(
        self,
        answer: Callable[[str], str] = str,
        *,
        script: BatchScript | None = None,
        shelf: BatchShelf | None = None,
        name: str = "memory",
        price_factor: float = 0.5,
        limits: BatchLimits = BatchLimits(requests=1_000, bytes=1_000_000),  # noqa: B008  # it is frozen
    ) -> None:
        """Answer prompts by `answer`, a function of their data, as `script` says; or go on with what is on `shelf`."""
        self.shelf = shelf or BatchShelf(answer, script)
        self.name, self.price_factor, self.limits = name, price_factor, limits

    @property
    def script(self) -> BatchScript:
        """What goes wrong; it may be changed."""
        return self.shelf.script

    def size(self, request: BatchRequest, model: str) -> int:
        """Return the bytes of its texts."""
        return len(request.custom_id) + len(request.instruction.encode()) + len(request.data.encode())

    async def submit(self, job_id: str, model: str, requests: Sequence[BatchRequest]) -> str:
        """Put a batch on the shelf."""
        self._wait()
        prompts = [(each.custom_id, each.data) for each in requests]
        batch = self.shelf.put("memory-", prompts, job=job_id, model=model)
        if self.shelf.next("lost"):
            raise ProviderError("As scripted: the batch was taken, and the answer lost.")
        return batch.id

    async def find(self, job_id: str, custom_ids: Sequence[str], since: datetime) -> str | None:
        """Look for a batch by its name."""
        self._wait()
        return next((each.id for each in self.shelf.of("") if each.job == job_id), None)

    async def status(self, batch_id: str) -> BatchStatus:
        """Look at a batch."""
        self._wait()
        batch = self.shelf.find(batch_id)
        if batch is None:
            return BatchStatus(state="vanished")
        self.shelf.look(batch)
        error = "refused" if batch.end == "failed" else None
        return BatchStatus(state="ended" if batch.end else "running", told=batch.end or "running", error=error)

    async def results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Yield what became of the prompts; the last one is missing where the script cuts something off."""
        self._wait()
        batch = self.shelf.find(batch_id)
        if batch is None:
            return
        outcomes = list(self.shelf.outcomes(batch))
        for outcome in outcomes[: -1 if self.script.truncated else None]:
            yield _result(outcome, batch.model)
            if self.shelf.next("dropped"):
                raise ProviderError("As scripted: the connection was dropped.")
        batch.read += 1

    async def cancel(self, batch_id: str) -> None:
        """Let it end when it is looked at next."""
        self._wait()
        batch = self.shelf.find(batch_id)
        if batch is not None and batch.end is None:
            batch.is_cancelled = True

    async def delete(self, batch_id: str) -> None:
        """Forget it."""
        self._wait()
        batch = self.shelf.find(batch_id)
        if batch is not None:
            self.shelf.remove(batch)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _wait(self) -> None:
        """Take failures from the script as a real one does, which asks again for some time."""
        for _ in range(_PATIENCE):
            if not (self.shelf.next("overloaded") or self.shelf.next("broken")):
                return
        raise ProviderError("As scripted: overloaded.")


def _result(outcome: Outcome, model: str) -> BatchResult:
    if outcome.end != "completed":
        error = outcome.end if outcome.status == OK else str(outcome.status)
        return BatchResult(
            custom_id=outcome.custom_id, state=_STATES[outcome.end], error=error, is_final=outcome.status in _FINAL
        )
    return BatchResult(
        custom_id=outcome.custom_id,
        state="succeeded",
        text=outcome.text,
        model=model,
        input_tokens=100,
        output_tokens=10,
    )
