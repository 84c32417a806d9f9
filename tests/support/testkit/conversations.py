"""Turns of a conversation log, and a provider that answers as it is told."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

from discreet.errors import ProviderError
from discreet.ports import BatchLimits, BatchResult, BatchStatus
from discreet.prompts.data import read_block
from discreet.prompts.extraction import TURNS_TAG
from discreet.state.records import TurnRecord


def turn(request_id, said, *, user="ann", thread="thread", at=None, answer="I see.", **values):
    """Return a turn that began at `at`, by default an hour ago."""
    at = at or datetime.now(UTC) - timedelta(hours=1)
    given = {"ended_at": at + timedelta(seconds=2), "answer_id": f"a-{request_id}", **values}
    return TurnRecord(
        request_id=request_id,
        user_id=user,
        thread_id=thread,
        input_text=said,
        output_text=answer,
        started_at=at,
        **given,
    )


async def talk(storage, *texts, user="ann", thread="thread", at=None, prefix="r", **values):
    """Log a conversation, a minute a turn, the last of them an hour ago."""
    first = (at or datetime.now(UTC) - timedelta(hours=1)) - timedelta(minutes=len(texts))
    for number, text in enumerate(texts):
        begun = first + timedelta(minutes=number)
        await storage.log.append(turn(f"{thread}-{prefix}{number}", text, user=user, thread=thread, at=begun, **values))


def item(text, *sources, **values):
    """Return an item as a model answers it."""
    given = {"type": "user_fact", "importance": 5, "confidence": 0.9, "action": "add", **values}
    return {"text": text, "sources": list(sources), **given}


def echo(request):
    """Answer with each turn as a fact, and sessions with a summary of how many rounds there were."""
    if request.schema_name == "session_summary":
        rounds = read_block(request.data, "rounds")
        return {"summary": f"They spoke of {rounds[0]['user']}", "topics": ["talk"], "key_facts": []}
    turns = read_block(request.data, TURNS_TAG)
    return {"items": [item(turn["said"], turn["id"]) for turn in turns], "moments": []}


LIMITS = BatchLimits(requests=1_000, bytes=10_000_000)


class ScriptedProvider:
    """Answers by `answer`, a function of the prompt, at once or when `is_done`; counts what it was asked."""

    name, price_factor = "openai", 0.5

    def __init__(self, answer=echo, *, is_done=True, limits=LIMITS):
        self.answer = answer
        self.is_done = is_done
        self.limits = limits
        self.batches = {}
        self.models = Counter()
        self.calls = Counter()
        self.deleted = set()
        self.cancelled = set()
        self.vanished = set()
        self.failing = []
        """Errors that the next calls raise, by the name of the method."""
        self.changed = lambda results: results

    def size(self, request, model):
        return len(request.data)

    async def submit(self, job_id, model, requests):
        self._called("submit")
        self.models[model] += 1
        batch_id = f"batch-{len(self.batches)}"
        self.batches[batch_id] = (job_id, list(requests))
        self._called("submitted")
        return batch_id

    async def find(self, job_id, custom_ids, since):
        self._called("find")
        return next((batch_id for batch_id, (job, _) in self.batches.items() if job == job_id), None)

    async def status(self, batch_id):
        self._called("status")
        if batch_id in self.vanished or batch_id not in self.batches:
            return BatchStatus(state="vanished")
        return BatchStatus(state="ended" if self.is_done or batch_id in self.cancelled else "running", told="told")

    async def results(self, batch_id):
        self._called("results")
        results = []
        for request in self.batches[batch_id][1]:
            made = self.answer(request)
            if isinstance(made, BatchResult):
                results.append(made)
            elif made is not None:
                text = made if isinstance(made, str) else json.dumps(made)
                given = {"text": text, "model": "model-1", "input_tokens": 100, "output_tokens": 20}
                results.append(BatchResult(custom_id=request.custom_id, state="succeeded", **given))
        for result in self.changed(results):
            yield result

    async def cancel(self, batch_id):
        self._called("cancel")
        self.cancelled.add(batch_id)

    async def delete(self, batch_id):
        self._called("delete")
        self.deleted.add(batch_id)

    def _called(self, name):
        self.calls[name] += 1
        if self.failing and self.failing[0][0] == name:
            raise self.failing.pop(0)[1]


def overloaded():
    return ProviderError("overloaded", is_passing=True)
