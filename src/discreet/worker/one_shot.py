"""Extract from one user's conversations now, and show what comes of it, with or without keeping it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from discreet.errors import ProviderError
from discreet.ports import BatchProvider, FixedSettings, TextRedactor
from discreet.state.background import StoredRequest
from discreet.state.memory_settings import MemorySettings
from discreet.state.records import MemoryRecord
from discreet.storage.background.background import Background
from discreet.storage.background.results import Outcome
from discreet.worker.prompting import make, outcome_of
from discreet.worker.providers import BatchProviders
from discreet.worker.starting import start
from discreet.worker.worker import Worker

Progress = Callable[[int, int], None]
"""Called with how many prompts are done, and how many there are."""


@dataclass(kw_only=True)
class Extracted:
    """What came of it."""

    prompts: int = 0
    turns: int = 0
    records: list[tuple[MemoryRecord, str]] = field(default_factory=list)
    """Each memory as it was proposed, and `new` or `known`; without a dry run, `kept` or `waits` for somebody's yes."""
    numbers: dict[str, int] = field(default_factory=dict)
    """By name, see docs/extraction.md."""
    failed: int = 0
    """Prompts that got no answer."""
    causes: set[str] = field(default_factory=set)
    """Codes of why."""
    input_tokens: int = 0
    output_tokens: int = 0

    def count(self, outcome: Outcome, numbers: Mapping[str, int]) -> None:
        """Add what one answer came to."""
        self.input_tokens += outcome.input_tokens
        self.output_tokens += outcome.output_tokens
        for name, number in numbers.items():
            self.numbers[name] = self.numbers.get(name, 0) + number


async def extract_now(
    background: Background,
    user_id: str,
    *,
    providers: BatchProviders,
    live: MemorySettings,
    redactor: TextRedactor,
    after: datetime | None = None,
    again: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> Extracted:
    """Take the user's turns, ask, and keep what comes of it; `live` names a provider that answers at once.

    Raises:
        InvalidUserError: `user_id` can't be used.
        ConfigurationError: The provider can't be made.
        StorageError: The database failed. What was kept until then stays.
    """
    user_key = background.key_of(user_id)
    providers.get(live.memory_extraction_provider, live.extraction_model)
    found = Extracted()
    verdict = "waits" if live.memory_extraction_review else "kept"

    def told(request: StoredRequest, outcome: Outcome, numbers: Mapping[str, int]) -> None:
        found.prompts += 1
        found.turns += len(request.request_ids) if request.kind == "extraction" else 0
        found.records += [(record, verdict) for record in outcome.records]
        found.count(outcome, numbers)
        progress(found.prompts, made)

    worker = Worker(background, memory_settings=FixedSettings(live), providers=providers, redactor=redactor, told=told)
    made = await start(background, user_key, live, after=after, again=again)
    progress(0, made)
    settled = 0
    while (job := await worker.submit(collect_seconds=0.0, user_key=user_key)) is not None:
        while await worker.attend(job.job_key):
            pass
        ended = await background.jobs.get(job.job_key)
        settled += sum(ended.figures.get(state, 0) for state in ("applied", "cancelled")) if ended else 0
    found.failed = max(0, made - settled)
    if found.failed:
        found.causes |= await background.requests.causes(user_key)
    return found


async def preview(
    background: Background,
    user_id: str,
    *,
    provider: BatchProvider,
    model: str,
    redactor: TextRedactor,
    after: datetime | None = None,
    again: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> Extracted:
    """Do what `extract_now` does, and store nothing: neither memories nor that anything was worked on.

    Raises:
        As `extract_now`.
    """
    user_key = background.key_of(user_id)
    requests: list[StoredRequest] = []
    for thread_key in await background.sessions.threads_of(user_key, after=after):
        requests += await background.sessions.take(
            user_key, thread_key, "manual", kinds=["extraction"], after=after, again=again, dry_run=True
        )
    found = Extracted(prompts=len(requests), turns=sum(len(request.request_ids) for request in requests))
    progress(0, len(requests))
    for done, request in enumerate(requests, 1):
        outcome = await _answered(background, request, provider, model, redactor)
        if isinstance(outcome, str):
            found.failed += 1
            found.causes.add(outcome)
        else:
            stored = await background.results.preview(request, outcome)
            found.records += [(record, "new" if is_new else "known") for record, is_new in stored]
            new = sum(is_new for _, is_new in stored)
            refused = {f"refused_{reason}": number for reason, number in outcome.refused.items()}
            found.count(outcome, {"new": new, "known": len(stored) - new, **refused})
        progress(done, len(requests))
    return found


async def _answered(
    background: Background, request: StoredRequest, provider: BatchProvider, model: str, redactor: TextRedactor
) -> Outcome | str:
    """Return what the provider answers to one prompt; the code of why it failed if it did."""
    made = await make(request, background.requests)
    if made.prompt is None:
        return made.outcome or Outcome()
    batch_id = await provider.submit(request.custom_id, model, [made.prompt])
    try:
        async for result in provider.results(batch_id):
            if result.state != "succeeded":
                return result.error or result.state
            answered = await outcome_of(request, result, background.requests, redactor=redactor, model=model)
            return answered or Outcome()
    except ProviderError:
        return "malformed_answer"
    finally:
        await provider.delete(batch_id)
    return "no_answer"
