"""A day of background memory: `python benchmarks/extraction_day.py [--people 200] [--json]`.

200 people write 20 turns each, in four languages, on the embedded database with the local embedding: eight facts of
retrieval_sets, one that is said anew in the evening (dedup_sets), and ten turns without facts (extraction_sets/tune). The log has
them; then a worker takes the sessions that are due, extracts by the offline rules, and saves. Printed: sessions and prompts; facts
found, superseded, known already, refused and why; seconds; how many of the people's questions, asked in other words, find
the fact that answers them among five, before and after; and what the same prompts cost at list prices with a model, in a batch
and at once. Before: a model has saved every tenth fact in the turn, as `save_memory` does. Exit code 1 if a prompt is left over.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from extracting.scoring import LANGUAGES, SETS, read_turns

from discreet.api.prices import cost, price_list
from discreet.ports import BatchRequest, BatchResult, FixedSettings
from discreet.providers.local import local_embeddings
from discreet.providers.offline.batches import OfflineBatchProvider
from discreet.providers.tokens import count_tokens
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord, TurnRecord
from discreet.storage import Storage, open_storage
from discreet.worker import BatchProviders, Worker

HERE = Path(__file__).parent
FACTS, FILLERS = 8, 10
TURNS = FACTS + FILLERS + 2
SAVED_IN_THE_TURN = 10
"""Every so many facts a model saves by itself."""
MORNING = datetime(2026, 3, 2, 8, tzinfo=UTC)
MODEL = "gpt-4o-mini"
"""Whose prices are told."""


@dataclass(frozen=True)
class Asked:
    """A question of somebody, and the turn that answers it."""

    user: str
    question: str
    request_id: str
    text: str


@dataclass
class Day:
    """What was said, and what came of it."""

    asked: list[Asked] = field(default_factory=list)
    turns: int = 0
    facts: int = 0


def main() -> int:
    """Measure, print, and return 1 if a prompt is left over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        figures = asyncio.run(measure(Path(folder), options.people))
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:44} {value:,}" if isinstance(value, int) else f"{name:44} {value}")
    return 1 if figures["prompts left over"] else 0


async def measure(folder: Path, people: int) -> dict[str, Any]:
    """Return the figures by name, in their order."""
    settings = Settings(data_dir=folder, postgres_dsn=None)
    live = MemorySettings(memory_extraction_provider="offline", memory_extraction_model="rules")
    async with open_storage(settings=settings, embeddings=local_embeddings()) as storage:
        began = time.perf_counter()
        day = await talk(storage, people)
        logged = time.perf_counter() - began
        before = await answered(storage, day.asked)
        provider = CountingProvider()
        providers = BatchProviders(settings, make=lambda _name, _model: provider)
        worker = Worker(
            storage.background, memory_settings=FixedSettings(live), providers=providers, redactor=Redactor()
        )
        began = time.perf_counter()
        fired = await worker.fire()
        while await worker.submit(collect_seconds=0.0) is not None:
            pass
        while await worker.attend():
            pass
        seconds = time.perf_counter() - began
        after = await answered(storage, day.asked)
        jobs = await storage.background.jobs.latest(limit=1_000)
        status = await storage.background.watch.status()
    numbers: Counter[str] = Counter()
    for job in jobs:
        numbers.update({name: number for name, number in job.figures.items() if isinstance(number, int)})
    refused = ", ".join(f"{name[8:]} {n:,}" for name, n in sorted(numbers.items()) if name.startswith("refused_"))
    return {
        "people": people,
        "turns logged": day.turns,
        "seconds to log them": round(logged, 1),
        "sessions that were due": fired,
        "prompts": numbers["applied"],
        "prompts left over": sum(status.requests.get(state, 0) for state in ("pending", "submitted")),
        "facts that were said": day.facts,
        "facts found": numbers["added"] + numbers["superseded"],
        "of these in the place of older ones": numbers["superseded"],
        "known already": numbers["known"],
        "session summaries": numbers["summaries"],
        "refused": refused or "none",
        "seconds of the worker": round(seconds, 1),
        "milliseconds a turn": round(seconds / day.turns * 1e3, 1),
        "questions": len(day.asked),
        "answered before": f"{before} ({before / len(day.asked):.0%})",
        "answered after": f"{after} ({after / len(day.asked):.0%})",
        "tokens of prompts": provider.asked,
        f"cost with {MODEL} in batches ({price_list().as_of})": provider.cost("openai"),
        f"cost with {MODEL} at once": provider.cost("immediate"),
    }


async def talk(storage: Storage, people: int) -> Day:
    """Log everybody's day: a morning of half of the turns, and an evening with the rest in another thread."""
    day = Day()
    fillers = {
        language: [turn.said for turn in read_turns(SETS / "tune") if turn.language == language and not turn.facts]
        for language in LANGUAGES
    }
    for number in range(people):
        language = LANGUAGES[number % len(LANGUAGES)]
        chance = random.Random(number)  # the same day every time
        pairs = chance.sample(_toml("retrieval_sets", language)["pairs"], FACTS)
        update = chance.choice(_toml("dedup_sets", language)["tune"]["update"])
        said = [(text, question) for text, question in pairs]
        said += [(text, None) for text in chance.sample(fillers[language], FILLERS)]
        chance.shuffle(said)
        middle = len(said) // 2
        said = [*said[:middle], (update[0], None), *said[middle:], (update[1], None)]
        await _log(storage, day, f"user-{number}", said)
    return day


async def _log(storage: Storage, day: Day, user: str, said: Sequence[tuple[str, str | None]]) -> None:
    for place, (text, question) in enumerate(said):
        evening = place >= len(said) // 2
        at = MORNING + timedelta(hours=10 if evening else 0, minutes=3 * place)
        request_id = f"{user}-{place}"
        await storage.log.append(
            TurnRecord(
                request_id=request_id,
                user_id=user,
                thread_id=f"{user}-{'evening' if evening else 'morning'}",
                input_text=text,
                output_text="I see.",
                started_at=at,
                ended_at=at + timedelta(seconds=4),
            )
        )
        day.turns += 1
        if question is None:
            continue
        day.facts += 1
        day.asked.append(Asked(user, question, request_id, text))
        if day.facts % SAVED_IN_THE_TURN == 0:
            await storage.memories.save(user, [MemoryRecord(text=text, request_id=request_id, created_at=at)])


async def answered(storage: Storage, asked: Sequence[Asked]) -> int:
    """Return how many questions find the turn that answers them among the five best."""
    found = 0
    for each in asked:
        hits = await storage.memories.search(each.user, each.question, limit=5)
        found += any(
            each.request_id in {hit.record.request_id, *(hit.record.provenance.turns or ())}
            for hit in hits
            if hit.record.type != "conversation_summary"
        )
    return found


class CountingProvider(OfflineBatchProvider):
    """The rules, with a count of what a model would have been asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = self.answered = 0
        """Tokens."""

    async def submit(self, job_id: str, model: str, requests: Sequence[BatchRequest]) -> str:
        """Count the tokens of the prompts."""
        self.asked += sum(count_tokens(each.instruction) + count_tokens(each.data) for each in requests)
        return await super().submit(job_id, model, requests)

    async def results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Count the tokens of the answers."""
        async for result in super().results(batch_id):
            self.answered += count_tokens(result.text or "")
            yield result

    def cost(self, provider: str) -> str:
        """Return what it would have cost at list prices."""
        return f"${cost(MODEL, self.asked, self.answered, provider) or 0:.3f}"


def _toml(folder: str, language: str) -> dict[str, Any]:
    return tomllib.loads((HERE / folder / f"{language}.toml").read_text("utf-8"))


if __name__ == "__main__":
    sys.exit(main())
