"""Batches of Anthropic: https://platform.claude.com/docs/en/build-with-claude/batch-processing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from discreet.errors import ProviderError
from discreet.ports import BatchLimits, BatchRequest, BatchResult, BatchStatus, ResultState
from discreet.providers.batches.base import CLOCKS_APART, ClientBatchProvider
from discreet.providers.batches.calls import RefusedError
from discreet.providers.batches.lines import code_of, results_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anthropic import AsyncAnthropic
    from anthropic.types.messages import MessageBatch
    from anthropic.types.messages.batch_create_params import Request

LIMITS: Final = BatchLimits(requests=100_000, bytes=64_000_000)
"""The guide says 100,000 and 256 MB. The client holds three times of what it sends: 600 MB were measured for 190."""

_UNDONE: Final[Mapping[str, ResultState]] = {"expired": "expired", "canceled": "cancelled"}
_FINAL: Final = frozenset({"invalid_request_error", "request_too_large"})
"""What would be answered with status 400 and 413."""
_CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
_REFUSAL: Final = "refusal"


class AnthropicBatchProvider(ClientBatchProvider["AsyncAnthropic"]):
    """The port `BatchProvider` over `/v1/messages/batches`; `options` are fields of a message.

    Results are kept for 29 days. A batch has no name there: `find` knows it by its number of prompts and by its results, so
    that it has to wait for the end of one that was submitted since and has as many, be it somebody else's.
    """

    name = "anthropic"
    limits = LIMITS
    company, variable = "Anthropic", "ANTHROPIC_API_KEY"
    package = "anthropic", "anthropic"

    async def submit(self, job_id: str, model: str, requests: Sequence[BatchRequest]) -> str:
        """Hand the prompts in with the call itself."""
        lines = [cast("Request", self._line(each, model)) for each in requests]
        client, batch = await self._calls.make(lambda client: client.messages.batches.create(requests=lines))
        self._calls.remember(batch.id, client)
        return batch.id

    async def find(self, job_id: str, custom_ids: Sequence[str], since: datetime) -> str | None:
        """Look at batches since then that have as many prompts, and at the first result of each.

        Raises:
            ProviderError: It may be one that has not ended.
        """
        ours, earliest = frozenset(custom_ids), since - CLOCKS_APART

        unclear = False

        async def once(client: AsyncAnthropic) -> str | None:
            nonlocal unclear
            async for batch in client.messages.batches.list(limit=100):
                if batch.created_at < earliest:
                    break
                if _requests(batch) != len(ours):
                    continue
                if batch.processing_status != "ended":
                    unclear = True
                elif await self._is_of(client, batch, ours):
                    return batch.id
            return None

        found = await self._calls.every(once)
        if found is None and unclear:
            raise ProviderError("A batch at Anthropic has not ended, and may be the one that is sought.")
        if found is None:
            return None
        self._calls.remember(found[1], found[0])
        return found[1]

    async def status(self, batch_id: str) -> BatchStatus:
        """Return how far it is. Of one that was archived the results are gone."""
        found = await self._find(batch_id)
        if found is None or _is_archived(found[1]):
            return BatchStatus(state="vanished", told="" if found is None else "archived")
        told = found[1].processing_status
        return BatchStatus(state="ended" if told == "ended" else "running", told=told)

    async def results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Yield a result for each prompt."""
        found = await self._find(batch_id)
        if found is not None and found[1].results_url:
            async for result in self._results(found[0], batch_id):
                yield result

    async def cancel(self, batch_id: str) -> None:
        """Ask for its end."""
        found = await self._find(batch_id)
        if found is not None and found[1].processing_status == "in_progress":
            await self._cancel(found[0], batch_id)

    async def delete(self, batch_id: str) -> None:
        """Delete the batch with all that is in it.

        Raises:
            ProviderError: It has not ended. It was cancelled, and can be deleted when that is done.
        """
        found = await self._find(batch_id)
        if found is None:
            return
        client, batch = found
        if batch.processing_status != "ended":
            await self._cancel(client, batch_id)
            raise ProviderError("The batch at Anthropic is being cancelled. It can be deleted when it has ended.")
        try:
            await self._calls.repeated(lambda: client.messages.batches.delete(batch_id))
        except RefusedError as error:
            if not error.is_absent:
                raise

    def _line(self, request: BatchRequest, model: str) -> dict[str, Any]:
        output = {"format": {"type": "json_schema", "schema": request.schema}}
        params = {
            "model": model,
            "max_tokens": request.max_tokens,
            **self._options,
            "system": request.instruction,
            "messages": [{"role": "user", "content": request.data}],
            "output_config": {**self._options.get("output_config", {}), **output},
        }
        return {"custom_id": request.custom_id, "params": params}

    def _open(self, key: str) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic  # takes a second to import

        return AsyncAnthropic(api_key=key, base_url=self._base_url, max_retries=0)

    async def _close(self, client: AsyncAnthropic) -> None:
        await client.close()

    def _lost(self) -> tuple[type[Exception], ...]:
        import anthropic
        import httpx2

        return anthropic.APIConnectionError, httpx2.RequestError

    async def _find(self, batch_id: str) -> tuple[AsyncAnthropic, MessageBatch] | None:
        return await self._calls.of(batch_id, lambda client: client.messages.batches.retrieve(batch_id))

    async def _cancel(self, client: AsyncAnthropic, batch_id: str) -> None:
        try:
            await self._calls.repeated(lambda: client.messages.batches.cancel(batch_id))
        except RefusedError as error:
            if error.is_passing:
                raise  # else it has ended meanwhile

    def _results(self, client: AsyncAnthropic, batch_id: str) -> AsyncIterator[BatchResult]:
        # The client's own decoder of lines ends at the first that it can't read.
        opened = partial(client.messages.batches.with_streaming_response.results, batch_id)
        chunks = self._calls.stream(opened, lambda response: response.iter_bytes())
        return results_of(chunks, _result, batch_id=batch_id)

    async def _is_of(self, client: AsyncAnthropic, batch: MessageBatch, ours: frozenset[str]) -> bool:
        if _is_archived(batch):
            return False
        async with aclosing(cast("AsyncGenerator[BatchResult]", self._results(client, batch.id))) as results:
            async for result in results:
                return result.custom_id in ours
        return False


def _requests(batch: MessageBatch) -> int:
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


def _is_archived(batch: MessageBatch) -> bool:
    return batch.archived_at is not None or (batch.processing_status == "ended" and not batch.results_url)


def _result(line: dict[str, Any]) -> BatchResult:
    """Read a line of the results (API reference, "Retrieve Message Batch results")."""
    custom_id, told = str(line["custom_id"]), line["result"]
    kind = told["type"]
    if kind != "succeeded":
        inner = (told.get("error") or {}).get("error") or {}
        code = code_of(inner.get("type"), kind)
        state = _UNDONE.get(kind, "failed")
        return BatchResult(custom_id=custom_id, state=state, error=code, is_final=code in _FINAL)
    message = told["message"]
    # Of JSON, whose texts are redacted one by one when it was read, the pieces are one text.
    text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
    ended, usage = message.get("stop_reason"), message.get("usage") or {}
    error = "length" if ended in _CUT else ended if ended == _REFUSAL else None if text else "empty"
    return BatchResult(
        custom_id=custom_id,
        state="failed" if error else "succeeded",
        text=None if error else text,
        model=message.get("model"),
        input_tokens=usage.get("input_tokens") or 0,
        output_tokens=usage.get("output_tokens") or 0,
        error=error,
        is_final=error == _REFUSAL,
    )
