"""Batches of OpenAI, and of servers that speak its protocol: https://developers.openai.com/api/docs/guides/batch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import ProviderError
from discreet.ports import BatchLimits, BatchRequest, BatchResult, BatchStatus, ResultState
from discreet.providers.batches.base import CLOCKS_APART, ClientBatchProvider
from discreet.providers.batches.calls import RefusedError
from discreet.providers.batches.lines import code_of, lines_file, results_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch

LIMITS: Final = BatchLimits(requests=50_000, bytes=195_000_000)
"""The guide says 50,000 and 200 MB; some servers count in other megabytes."""

EXPIRES_SECONDS: Final = 30 * 24 * 3600
"""The longest there is, for what was not deleted."""

_JOB: Final = "discreet_job"
_ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_FINAL: Final = frozenset({400, 413})
_UNDONE: Final[Mapping[str, ResultState]] = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
_OK: Final = 200


class OpenAIBatchProvider(ClientBatchProvider["AsyncOpenAI"]):
    """The port `BatchProvider` over `/v1/files` and `/v1/batches`; `options` are fields of a chat completion."""

    name = "openai"
    limits = LIMITS
    company, variable = "OpenAI", "OPENAI_API_KEY"
    package = "openai", "openai"

    async def submit(self, job_id: str, model: str, requests: Sequence[BatchRequest]) -> str:
        """Upload the prompts as a file, make a batch of it and return its id."""

        async def upload(client: AsyncOpenAI) -> str:
            async with lines_file(self._line(each, model) for each in requests) as file:
                uploaded = await client.files.create(
                    file=(f"discreet-{job_id}.jsonl", file, "application/jsonl"),
                    purpose="batch",
                    expires_after={"anchor": "created_at", "seconds": EXPIRES_SECONDS},
                )
            return uploaded.id

        client, file_id = await self._calls.make(upload, safe=True)
        try:
            batch = await self._calls.repeated(
                lambda: client.batches.create(
                    input_file_id=file_id,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_JOB: job_id},
                    output_expires_after={"anchor": "created_at", "seconds": EXPIRES_SECONDS},
                ),
                safe=False,
            )
        except RefusedError:
            with suppress(ProviderError):
                await self._delete_file(client, file_id)
            raise
        self._calls.remember(batch.id, client)
        return batch.id

    async def find(self, job_id: str, custom_ids: Sequence[str], since: datetime) -> str | None:
        """Look for the job in the metadata of batches, newest first, as they are listed."""
        earliest = (since - CLOCKS_APART).timestamp()

        async def once(client: AsyncOpenAI) -> str | None:
            async for batch in client.batches.list(limit=100):
                if batch.created_at < earliest:
                    return None
                if (batch.metadata or {}).get(_JOB) == job_id:
                    return batch.id
            return None

        found = await self._calls.every(once)
        if found is None:
            return None
        self._calls.remember(found[1], found[0])
        return found[1]

    async def status(self, batch_id: str) -> BatchStatus:
        """Return how far it is."""
        found = await self._find(batch_id)
        if found is None:
            return BatchStatus(state="vanished")
        batch = found[1]
        errors = (batch.errors.data if batch.errors else None) or []
        return BatchStatus(
            state="ended" if batch.status in _ENDED else "running",
            told=batch.status,
            error=code_of(errors[0].code) if errors else None,
        )

    async def results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Yield what the two files of answers and of errors say, whatever became of the batch."""
        found = await self._find(batch_id)
        if found is None:
            return
        client, batch = found
        for file_id in (batch.output_file_id, batch.error_file_id):
            if file_id:
                async for result in results_of(self._content(client, file_id), _result, batch_id=batch_id):
                    yield result

    async def cancel(self, batch_id: str) -> None:
        """Ask for its end. What was answered by then comes with the results."""
        found = await self._find(batch_id)
        if found is None or found[1].status in _ENDED:
            return
        try:
            await self._calls.repeated(lambda: found[0].batches.cancel(batch_id))
        except RefusedError as error:
            if error.is_passing:
                raise  # else it has ended meanwhile, or is being cancelled

    async def delete(self, batch_id: str) -> None:
        """Delete its files. The batch itself can't be deleted; it holds ids, counts and times."""
        found = await self._find(batch_id)
        if found is None:
            return
        client, batch = found
        for file_id in (batch.input_file_id, batch.output_file_id, batch.error_file_id):
            if file_id:
                await self._delete_file(client, file_id)

    def _line(self, request: BatchRequest, model: str) -> dict[str, Any]:
        schema = {"name": request.schema_name, "strict": True, "schema": request.schema}
        body = {
            "model": model,
            "max_completion_tokens": request.max_tokens,
            **self._options,
            "messages": [
                {"role": "system", "content": request.instruction},
                {"role": "user", "content": request.data},
            ],
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        return {"custom_id": request.custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}

    def _open(self, key: str) -> AsyncOpenAI:
        from openai import AsyncOpenAI  # takes a second to import

        return AsyncOpenAI(api_key=key, base_url=self._base_url, max_retries=0)

    async def _close(self, client: AsyncOpenAI) -> None:
        await client.close()

    def _lost(self) -> tuple[type[Exception], ...]:
        import httpx2
        import openai

        return openai.APIConnectionError, httpx2.RequestError

    async def _find(self, batch_id: str) -> tuple[AsyncOpenAI, Batch] | None:
        return await self._calls.of(batch_id, lambda client: client.batches.retrieve(batch_id))

    def _content(self, client: AsyncOpenAI, file_id: str) -> AsyncIterator[bytes]:
        opened = partial(client.files.with_streaming_response.content, file_id)
        return self._calls.stream(opened, lambda response: response.iter_bytes())

    async def _delete_file(self, client: AsyncOpenAI, file_id: str) -> None:
        try:
            await self._calls.repeated(lambda: client.files.delete(file_id))
        except RefusedError as error:
            if not error.is_absent:
                raise


def _result(line: dict[str, Any]) -> BatchResult:
    """Read a line of either file (API reference, "The request output object")."""
    custom_id, failed, response = str(line["custom_id"]), line.get("error") or {}, line.get("response")
    if response is None or failed.get("code") in _UNDONE:
        code = code_of(failed["code"])
        return BatchResult(custom_id=custom_id, state=_UNDONE.get(code, "failed"), error=code)
    status, body = response["status_code"], response["body"]
    if status != _OK:
        told = body.get("error") or {}
        code = code_of(told.get("code"), told.get("type"), status)
        return BatchResult(custom_id=custom_id, state="failed", error=code, is_final=status in _FINAL)
    choice, usage = body["choices"][0], body.get("usage") or {}
    message, ended = choice["message"], choice.get("finish_reason")
    error = "refusal" if message.get("refusal") else ended if ended in {"length", "content_filter"} else None
    error = error or (None if message.get("content") else "empty")
    return BatchResult(
        custom_id=custom_id,
        state="failed" if error else "succeeded",
        text=None if error else message["content"],
        model=body.get("model"),
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
        error=error,
        is_final=error in {"refusal", "content_filter"},
    )
