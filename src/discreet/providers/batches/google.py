"""Batches of Google's Gemini API: https://ai.google.dev/gemini-api/docs/batch-api."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import ProviderError
from discreet.ports import BatchLimits, BatchRequest, BatchResult, BatchStatus, ResultState
from discreet.providers.batches.base import CLOCKS_APART, ClientBatchProvider
from discreet.providers.batches.calls import RefusedError
from discreet.providers.batches.google_client import (
    GoogleClient,
    create,
    inlined,
    lost_connections,
    meant_status,
    open_client,
    upload,
)
from discreet.providers.batches.lines import code_of, results_of

if TYPE_CHECKING:
    from google.genai.types import BatchJob

LIMITS: Final = BatchLimits(requests=50_000, bytes=195_000_000)
"""The guide says 2 GB and tells no number; what other providers take is enough, and is a file on our side."""

INLINE_BYTES: Final = 19_000_000
"""The guide says 20 MB. More is uploaded as a file."""

INLINE_TOKENS: Final = 1_000_000
"""Of all answers together. Answers to prompts that were sent inline come with each look at the batch, in one piece."""

FILE_LIFE: Final = timedelta(hours=48)
"""Of files, those of results too."""

_INLINE: Final = "inline"
_ENDED: Final = frozenset({"SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"})
_UNDONE: Final[Mapping[str, ResultState]] = {"1": "cancelled", "4": "expired", "499": "cancelled", "504": "expired"}
_FINAL: Final = frozenset({"3", "400", "413"})
"""Codes come as those of gRPC or of HTTP: invalid argument, bad request, too large."""

_REFUSALS: Final = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"})


class GoogleBatchProvider(ClientBatchProvider[GoogleClient]):
    """The port `BatchProvider` over Gemini's batches; `options` are fields of `generationConfig`, such as `topP`.

    A batch is named `discreet-<job>.<file>`, so that any process can delete the file that was uploaded for it.
    """

    name = "google"
    limits = LIMITS
    company, variable = "Google", "GOOGLE_API_KEY"
    package = "google.genai", "google-genai"

    async def submit(self, job_id: str, model: str, requests: Sequence[BatchRequest]) -> str:
        """Make a batch of the prompts, inline or by a file, and return its name there."""
        lines = [self._line(each, model) for each in requests]
        size = sum(self.size(each, model) for each in requests)
        if size <= INLINE_BYTES and sum(each.max_tokens for each in requests) <= INLINE_TOKENS:
            inline = [inlined(line) for line in lines]
            client, batch = await self._calls.make(
                partial(create, model=model, source=inline, name=f"discreet-{job_id}.{_INLINE}")
            )
        else:
            client, file = await self._calls.make(partial(upload, lines=lines, name=f"discreet-{job_id}"), safe=True)
            name = f"discreet-{job_id}.{file.removeprefix('files/')}"
            try:
                batch = await self._calls.repeated(
                    partial(create, client, model=model, source=file, name=name), safe=False
                )
            except RefusedError:
                with suppress(ProviderError):
                    await self._delete_file(client, file)
                raise
        if batch.name is None:
            raise ProviderError("Google made a batch without a name.")
        self._calls.remember(batch.name, client)
        return batch.name

    async def find(self, job_id: str, custom_ids: Sequence[str], since: datetime) -> str | None:
        """Look for the job among the names of all batches: in which order they are listed is not documented."""
        earliest = since - CLOCKS_APART

        async def once(client: GoogleClient) -> str | None:
            newest: tuple[datetime, str] | None = None
            async for batch in await client.genai.aio.batches.list(config={"page_size": 100}):
                is_ours = (batch.display_name or "").rpartition(".")[0] == f"discreet-{job_id}"
                if is_ours and batch.name and batch.create_time and batch.create_time >= earliest:
                    newest = max(newest or (earliest, ""), (batch.create_time, batch.name))
            return None if newest is None else newest[1]

        found = await self._calls.every(once)
        if found is None:
            return None
        self._calls.remember(found[1], found[0])
        return found[1]

    async def status(self, batch_id: str) -> BatchStatus:
        """Return how far it is. A file of results goes 48 hours after its end."""
        found = await self._find(batch_id)
        if found is None:
            return BatchStatus(state="vanished")
        batch = found[1]
        told = _state(batch)
        if told not in _ENDED:
            return BatchStatus(state="running", told=told)
        is_file = batch.dest is not None and batch.dest.file_name is not None
        if is_file and batch.end_time is not None and datetime.now(UTC) - batch.end_time > FILE_LIFE:
            return BatchStatus(state="vanished", told=told)
        return BatchStatus(state="ended", told=told, error=None if batch.error is None else code_of(batch.error.code))

    async def results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Yield what came with the batch, or what its file says."""
        found = await self._find(batch_id)
        if found is None or found[1].dest is None:
            return
        client, destination = found[0], found[1].dest
        for response in destination.inlined_responses or ():
            told = response.model_dump(mode="json", by_alias=True, exclude_none=True)
            yield _result({**told, "key": told["metadata"]["key"]})
        if destination.file_name is not None:
            chunks = self._content(client, destination.file_name)
            async for result in results_of(chunks, _result, batch_id=batch_id):
                yield result

    async def cancel(self, batch_id: str) -> None:
        """Ask for its end."""
        found = await self._find(batch_id)
        if found is None or _state(found[1]) in _ENDED:
            return
        try:
            await self._calls.repeated(lambda: found[0].genai.aio.batches.cancel(name=batch_id))
        except RefusedError as error:
            if error.is_passing:
                raise  # else it has ended meanwhile

    async def delete(self, batch_id: str) -> None:
        """Delete its files, then the batch, which tells their names."""
        found = await self._find(batch_id)
        if found is None:
            return
        client, batch = found
        uploaded = (batch.display_name or "").rpartition(".")[2]
        if uploaded not in {"", _INLINE}:
            await self._delete_file(client, f"files/{uploaded}")
        if batch.dest is not None and batch.dest.file_name is not None:
            await self._delete_file(client, batch.dest.file_name)
        try:
            await self._calls.repeated(lambda: client.genai.aio.batches.delete(name=batch_id))
        except RefusedError as error:
            if not error.is_absent:
                raise

    def _line(self, request: BatchRequest, model: str) -> dict[str, Any]:
        answer = {"responseMimeType": "application/json", "responseJsonSchema": request.schema}
        sent = {
            "contents": [{"role": "user", "parts": [{"text": request.data}]}],
            "systemInstruction": {"parts": [{"text": request.instruction}]},
            "generationConfig": {"maxOutputTokens": request.max_tokens, **self._options, **answer},
        }
        return {"key": request.custom_id, "request": sent}

    def _open(self, key: str) -> GoogleClient:
        return open_client(key, self._base_url)

    async def _close(self, client: GoogleClient) -> None:
        await client.aclose()

    def _lost(self) -> tuple[type[Exception], ...]:
        return lost_connections()

    @staticmethod
    def _status_of(error: Exception) -> int | None:
        return meant_status(error)

    async def _find(self, batch_id: str) -> tuple[GoogleClient, BatchJob] | None:
        if not batch_id.startswith("batches/"):
            return None  # the client would raise ValueError
        return await self._calls.of(batch_id, lambda client: client.genai.aio.batches.get(name=batch_id))

    def _content(self, client: GoogleClient, file: str) -> AsyncIterator[bytes]:
        return self._calls.stream(partial(client.download, file), lambda response: response.aiter_bytes())

    async def _delete_file(self, client: GoogleClient, file: str) -> None:
        """Delete it if that can be done.

        Of files with results the service refuses the names that it gives (googleapis/python-genai#1759); they go by themselves.
        """
        try:
            await self._calls.repeated(lambda: client.genai.aio.files.delete(name=file))
        except RefusedError as error:
            if error.is_passing:
                raise


def _state(batch: BatchJob) -> str:
    """Return the state without what all begin with: JOB_STATE_ or BATCH_STATE_."""
    return "" if batch.state is None else str(batch.state.value).rpartition("STATE_")[2]


def _result(line: dict[str, Any]) -> BatchResult:
    """Read a line of the results (API reference, "GenerateContentResponse"; google.rpc.Status where it failed)."""
    key = str(line["key"])
    if (response := line.get("response")) is None:
        code = code_of((line.get("error") or line["status"])["code"])
        return BatchResult(custom_id=key, state=_UNDONE.get(code, "failed"), error=code, is_final=code in _FINAL)
    blocked = (response.get("promptFeedback") or {}).get("blockReason")
    candidate: dict[str, Any] = next(iter(response.get("candidates") or ()), {})
    parts = (candidate.get("content") or {}).get("parts") or ()
    # As in `anthropic`: JSON in pieces is one text.
    text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
    ended, usage = candidate.get("finishReason"), response.get("usageMetadata") or {}
    refusal = blocked or (ended if ended in _REFUSALS else None)
    error = code_of(refusal) if refusal else "length" if ended == "MAX_TOKENS" else None if text else "empty"
    return BatchResult(
        custom_id=key,
        state="failed" if error else "succeeded",
        text=None if error else text,
        model=response.get("modelVersion"),
        input_tokens=usage.get("promptTokenCount") or 0,
        output_tokens=(usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0),
        error=error,
        is_final=refusal is not None,
    )
