"""No batch at all: each prompt is asked for by itself, of any chat model, while the results are read."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast
from uuid import uuid4

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelInvalidRequestError,
    ModelPermissionDeniedError,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.constants import TAG_NOSTREAM

from discreet.errors import ConfigurationError
from discreet.ports import BatchLimits, BatchRequest, BatchResult, BatchStatus
from discreet.providers.batches.lines import code_of
from discreet.providers.capabilities import name_of
from discreet.providers.retry import ModelRetry, http_status
from discreet.state.reasoning import without_reasoning

LIMITS: Final = BatchLimits(requests=1_000, bytes=50_000_000)
"""They are held in memory."""

CONCURRENCY: Final = 8

_AS_JSON: Final = "Answer with one JSON value that keeps to this JSON Schema, and with nothing else:\n{schema}"
_FINAL: Final = frozenset({400, 413})
_REFUSED_KEY: Final = frozenset({401, 403})
_REFUSALS: Final = frozenset(
    {"refusal", "content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"}
)
_CUT: Final = frozenset({"length", "max_tokens"})

_FENCED: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL | re.IGNORECASE)
_OPENS: Final = re.compile(r"[{\[]")
_TRIES: Final = 50
"""Brackets that are tried as the beginning of JSON."""
_DECODER: Final = json.JSONDecoder()


@dataclass
class _Batch:
    job_id: str
    requests: Sequence[BatchRequest]
    answered: dict[str, BatchResult] = field(default_factory=dict)
    """What was paid is not asked for again when somebody reads the results anew."""
    is_cancelled: bool = False


class ImmediateBatchProvider:
    """The port `BatchProvider` over any chat model, at its full price.

    Prompts are kept by this process only: for another one, and after a restart, the batch has vanished. It ends as soon as it is
    handed in, and its prompts are asked for while `results` is read, `concurrency` at a time. What fails is the result of
    that prompt. The model is the one given here, whatever `submit` says.
    """

    price_factor = 1.0
    limits = LIMITS

    def __init__(
        self,
        model: BaseChatModel,
        *,
        fallback: BaseChatModel | None = None,
        retry: ModelRetry | None = None,
        concurrency: int = CONCURRENCY,
        name: str = "immediate",
    ) -> None:
        """Ask `model`, and `fallback` while that is overloaded, as `retry` says."""
        self.name = name
        self._models = [model] if fallback is None else [model, fallback]
        self._retry = retry or ModelRetry()
        self._concurrency = concurrency
        self._batches: dict[str, _Batch] = {}
        self._unbound: set[int] = set()
        """Those of the models, by identity, whose server takes no schema."""

    def size(self, request: BatchRequest, model: str) -> int:
        """Return the bytes of its texts."""
        return len(request.instruction.encode()) + len(request.data.encode()) + len(json.dumps(request.schema))

    async def submit(self, job_id: str, model: str, requests: Sequence[BatchRequest]) -> str:
        """Keep the prompts."""
        batch_id = f"immediate-{uuid4().hex}"
        self._batches[batch_id] = _Batch(job_id, list(requests))
        return batch_id

    async def find(self, job_id: str, custom_ids: Sequence[str], since: datetime) -> str | None:
        """Return the batch, if this process has it."""
        return next((key for key, batch in reversed(self._batches.items()) if batch.job_id == job_id), None)

    async def status(self, batch_id: str) -> BatchStatus:
        """Say that its results can be read."""
        return BatchStatus(state="ended" if batch_id in self._batches else "vanished")

    async def results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Ask for each prompt and yield its answer as it comes; those of an earlier reading come first."""
        batch = self._batches.get(batch_id)
        if batch is None:
            return
        for result in list(batch.answered.values()):
            yield result
        left = deque(request for request in batch.requests if request.custom_id not in batch.answered)
        running: set[asyncio.Task[BatchResult]] = set()
        try:
            while left or running:
                while left and len(running) < self._concurrency:
                    running.add(asyncio.ensure_future(self._answer(batch, left.popleft())))
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def cancel(self, batch_id: str) -> None:
        """Ask for no further prompt of it."""
        if batch_id in self._batches:
            self._batches[batch_id].is_cancelled = True

    async def delete(self, batch_id: str) -> None:
        """Forget the prompts and answers."""
        self._batches.pop(batch_id, None)

    async def aclose(self) -> None:
        """Forget all of them; the model is its owner's."""
        self._batches.clear()

    async def _answer(self, batch: _Batch, request: BatchRequest) -> BatchResult:
        if batch.is_cancelled:
            return BatchResult(custom_id=request.custom_id, state="cancelled", error="cancelled")

        async def once(model: BaseChatModel, config: RunnableConfig) -> BatchResult:
            message = await self._ask(model, request, config)
            return _result(request.custom_id, message, model)

        try:
            result = await self._retry.ask(self._models, once)
        except Exception as error:  # noqa: BLE001  # every client library has errors of its own; one prompt's is no other's
            return _failure(request.custom_id, error)
        batch.answered[request.custom_id] = result
        return result

    async def _ask(self, model: BaseChatModel, request: BatchRequest, config: RunnableConfig) -> AIMessage:
        """Return the answer of a model: bound to the schema if it can be, else told of it."""
        config = merge_configs(config, {"tags": [TAG_NOSTREAM], "run_name": "immediate_batch"})
        prompt = [SystemMessage(request.instruction), HumanMessage(request.data)]
        bound = None if id(model) in self._unbound else _bound(model, request)
        if bound is not None:
            try:
                return cast("AIMessage", (await bound.ainvoke(prompt, config))["raw"])
            except Exception as error:
                if not _is_bad_request(error):
                    raise
        told = _AS_JSON.format(schema=json.dumps(request.schema))
        message = await model.ainvoke(
            [SystemMessage(f"{request.instruction}\n\n{told}"), HumanMessage(request.data)], config
        )
        self._unbound.add(id(model))  # a server that refuses schemas refuses them all
        return message


def _bound(model: BaseChatModel, request: BatchRequest) -> Runnable[Any, Any] | None:
    """Return the model with the schema bound; None where it or its client knows no such thing."""
    schema = {"title": request.schema_name, "description": "The answer.", **request.schema}
    try:
        return model.with_structured_output(schema, method="json_schema", include_raw=True)
    except (NotImplementedError, ValueError, TypeError, ImportError):
        return None


def _is_bad_request(error: Exception) -> bool:
    if isinstance(error, ModelInvalidRequestError | ContextOverflowError):
        return True
    return http_status(error) in _FINAL


def _failure(custom_id: str, error: Exception) -> BatchResult:
    """Return what became of a prompt that the model failed at.

    Raises:
        ConfigurationError: The key was refused, or the model can't fill schemas, which is no matter of this prompt.
    """
    if isinstance(error, ConfigurationError):
        raise error
    status = http_status(error)
    if status in _REFUSED_KEY or isinstance(error, ModelAuthenticationError | ModelPermissionDeniedError):
        raise ConfigurationError("The chat model's provider refused the key. Check the key of that provider.") from None
    code = code_of(status, type(error).__name__)
    return BatchResult(custom_id=custom_id, state="failed", error=code, is_final=_is_bad_request(error))


def _result(custom_id: str, message: AIMessage, model: BaseChatModel) -> BatchResult:
    """Read the answer; what a schema was bound to as a tool is in the tool's arguments."""
    told, usage = message.response_metadata, message.usage_metadata
    # As in `anthropic`: JSON in pieces is one text.
    text = json.dumps(message.tool_calls[0]["args"]) if message.tool_calls else json_in(str(message.text))
    ended = str(told.get("finish_reason") or told.get("stop_reason") or "").lower()
    refusal = message.additional_kwargs.get("refusal") or ended in _REFUSALS
    error = "refusal" if refusal else "length" if ended in _CUT else None if text else "empty"
    return BatchResult(
        custom_id=custom_id,
        state="failed" if error else "succeeded",
        text=None if error else text,
        model=told.get("model_name") or name_of(model),
        input_tokens=usage["input_tokens"] if usage else 0,
        output_tokens=usage["output_tokens"] if usage else 0,
        error=error,
        is_final=bool(refusal),
    )


def json_in(text: str) -> str:
    """Return the JSON in a model's answer, or the answer without its reasoning where there is none.

    Example:
        >>> json_in('<think>Tea?</think>Here you are: {"fact": "Likes tea."} Anything else?')
        '{"fact": "Likes tea."}'
    """
    said = without_reasoning(text).strip()
    fenced = _FENCED.search(said)
    for part in (said, fenced[1].strip() if fenced else said):
        for start in list(_OPENS.finditer(part))[:_TRIES]:
            try:
                _, end = _DECODER.raw_decode(part, start.start())
            except (ValueError, RecursionError):
                continue
            return part[start.start() : end]
    return said
