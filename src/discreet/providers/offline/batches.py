"""Answer the prompts of background memory by rules: no model, no key, no network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

from discreet.errors import ConfigurationError
from discreet.ports import BatchLimits, BatchRequest, BatchResult, BatchStatus, SpokenRound
from discreet.prompts.data import read_block
from discreet.prompts.extraction import AT, FORGOTTEN_TAG, KNOWN_TAG, TURNS_TAG, SaidTurn
from discreet.prompts.summaries import EARLIER_TAG, ROUNDS_TAG
from discreet.providers.extractive import ExtractiveSummaryProvider
from discreet.providers.offline.extraction import extract
from discreet.providers.offline.reading import read
from discreet.providers.topics import topic_of

SUMMARY_TOKENS = 200
TOPICS, KEY_FACTS = 5, 10


class OfflineBatchProvider:
    """Knows the two prompts that there are, by the names of their schemas, and reads their data as models do.

    What it is handed stays in this process: another one calls the batch vanished, and its prompts are handed in anew.
    """

    name = "offline"
    price_factor = 0.0
    limits = BatchLimits(requests=1_000, bytes=100_000_000)

    def __init__(self) -> None:
        self._batches: dict[str, Sequence[BatchRequest]] = {}
        self._summaries = ExtractiveSummaryProvider()

    def size(self, request: BatchRequest, model: str) -> int:
        """Return its length in bytes."""
        return len(request.data.encode())

    async def submit(self, job_id: str, model: str, requests: Sequence[BatchRequest]) -> str:
        """Keep the prompts until their answers are fetched."""
        self._batches[job_id] = list(requests)
        return job_id

    async def find(self, job_id: str, custom_ids: Sequence[str], since: datetime) -> str | None:
        """Return the batch if this process has it."""
        return job_id if job_id in self._batches else None

    async def status(self, batch_id: str) -> BatchStatus:
        """Return that it has ended, or that this process doesn't have it."""
        return BatchStatus(state="ended" if batch_id in self._batches else "vanished")

    async def results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Yield the answers, each made when it is asked for."""
        for request in self._batches.get(batch_id, ()):
            answer = await self._answer(request)
            yield BatchResult(
                custom_id=request.custom_id,
                state="succeeded",
                text=json.dumps(answer, ensure_ascii=False),
                model="rules",
            )

    async def cancel(self, batch_id: str) -> None:
        """Drop it."""
        self._batches.pop(batch_id, None)

    async def delete(self, batch_id: str) -> None:
        """Drop it."""
        self._batches.pop(batch_id, None)

    async def _answer(self, request: BatchRequest) -> dict[str, Any]:
        if request.schema_name == "extraction":
            return await asyncio.to_thread(_extracted, request.data)
        if request.schema_name == "session_summary":
            return await self._summarised(request.data)
        raise ConfigurationError("The offline provider answers the prompts of background memory only.")

    async def _summarised(self, data: str) -> dict[str, Any]:
        lines = read_block(data, ROUNDS_TAG)
        rounds = [SpokenRound(said=line["user"], answered=line["assistant"]) for line in lines]
        earlier = "".join(read_block(data, EARLIER_TAG))
        text = await self._summaries.summarize(rounds, earlier=earlier, max_tokens=SUMMARY_TOKENS)
        topics = filter(None, (topic_of(each.said) for each in rounds))
        facts = filter(None, (read(each.said).facts for each in rounds))
        return {
            "summary": " ".join(filter(None, (earlier, text))) or topic_of(lines[0]["user"]) or "-",
            "topics": list(dict.fromkeys(topics))[:TOPICS],
            "key_facts": list(dict.fromkeys(facts))[:KEY_FACTS],
        }


def _extracted(data: str) -> dict[str, Any]:
    lines = read_block(data, TURNS_TAG)
    turns = [SaidTurn(datetime.strptime(line["at"], AT).replace(tzinfo=UTC), line["said"]) for line in lines]
    answer = extract(turns, known=read_block(data, KNOWN_TAG), forgotten=read_block(data, FORGOTTEN_TAG))
    for item in (*answer["items"], *answer["moments"]):
        item["sources"] = [lines[int(source[1:]) - 1]["id"] for source in item["sources"]]
    return answer
