"""`discreet extract`: facts from one user's conversations, now, or what they would be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from discreet.access.actor import acting
from discreet.cli.session import operator
from discreet.redaction.configured import default_redactor
from discreet.settings import load_settings
from discreet.state.memory_settings import MemorySettings
from discreet.storage import Storage, open_storage
from discreet.worker.one_shot import Extracted, extract_now, preview
from discreet.worker.one_shot import Progress as Told
from discreet.worker.providers import BatchProviders

LANGCHAIN = {"google": "google_genai"}
"""What LangChain calls a provider, where it is another name."""


def run_extract(
    dsn: str | None,
    user: str,
    *,
    since: datetime | None,
    again: bool,
    dry_run: bool,
    model: str | None,
    as_json: bool,
) -> int:
    """Extract and print what came of it; return 1 if a prompt got no answer, else 0.

    Raises:
        InvalidUserError: `user` can't be used.
        ConfigurationError: The model can't be made.
        StorageError: The database can't be used.
    """
    after = None if since is None else since.replace(tzinfo=UTC)
    with acting(operator(load_settings())):
        found = asyncio.run(_extract(dsn, user, after=after, again=again, dry_run=dry_run, model=model))
    if as_json:
        print(json.dumps(_as_dict(found, dry_run=dry_run), ensure_ascii=False))
    else:
        _print(found, dry_run=dry_run)
    return 1 if found.failed else 0


async def _extract(
    dsn: str | None, user: str, *, after: datetime | None, again: bool, dry_run: bool, model: str | None
) -> Extracted:
    settings = load_settings()
    providers = BatchProviders(settings)
    async with open_storage(dsn, settings=settings) as storage:
        live = _at_once(storage, model, providers)
        redactor = default_redactor()
        try:
            with _bar() as progress:
                if dry_run:
                    return await preview(
                        storage.background,
                        user,
                        provider=providers.get(live.memory_extraction_provider, live.extraction_model),
                        model=live.extraction_model,
                        redactor=redactor,
                        after=after,
                        again=again,
                        progress=progress,
                    )
                return await extract_now(
                    storage.background,
                    user,
                    providers=providers,
                    live=live,
                    redactor=redactor,
                    after=after,
                    again=again,
                    progress=progress,
                )
        finally:
            await providers.aclose()


def _at_once(storage: Storage, model: str | None, providers: BatchProviders) -> MemorySettings:
    """Return the settings with a provider that answers now: batches take hours."""
    live = storage.memory_settings.live
    if model is None and live.memory_extraction_provider in ("immediate", "offline"):
        return live
    if model is None:
        providers.get(live.memory_extraction_provider, live.extraction_model)  # says which key is missing
    of = LANGCHAIN.get(live.memory_extraction_provider, live.memory_extraction_provider)
    chosen = model or f"{of}:{live.extraction_model}"
    provider = "offline" if chosen == "offline" else "immediate"
    return live.model_copy(update={"memory_extraction_provider": provider, "memory_extraction_model": chosen})


@contextmanager
def _bar() -> Iterator[Told]:
    """Yield what shows how many prompts are done; on standard error, and on a terminal only."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Extracting", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _as_dict(found: Extracted, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "prompts": found.prompts,
        "turns": found.turns,
        "memories": [
            {
                "text": record.text,
                "type": record.type,
                "importance": record.importance,
                "confidence": record.confidence,
                "said_at": record.created_at.isoformat(),
                "turns": record.provenance.turns or [],
                "verdict": verdict,
            }
            for record, verdict in found.records
        ],
        "numbers": found.numbers,
        "failed": found.failed,
        "causes": sorted(found.causes),
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
    }


def _print(found: Extracted, *, dry_run: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("said", "type", "importance", "verdict", "text"):
        table.add_column(name, no_wrap=name != "text")
    for record, verdict in sorted(found.records, key=lambda each: each[0].created_at):
        cells = (f"{record.created_at:%Y-%m-%d}", record.type, str(record.importance), verdict, record.text)
        table.add_row(*map(Text, cells))
    if found.records:
        Console(highlight=False).print(table)
    numbers = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in sorted(found.numbers.items()))
    kept = "nothing was stored" if dry_run else "stored"
    print(f"{found.turns:,} turns in {found.prompts:,} prompts: {numbers or 'nothing found'}; {kept}.")
    if found.failed:
        causes = ", ".join(sorted(found.causes)) or "no cause is known"
        print(f"{found.failed:,} prompts got no answer: {causes}.")
