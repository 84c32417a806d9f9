"""`discreet status`: what background memory has to do, and who does it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from discreet.settings import load_settings
from discreet.storage import open_storage
from discreet.storage.background.status import BackgroundStatus
from discreet.worker.beside import make_worker


@dataclass(frozen=True, kw_only=True)
class Status:
    """What the command shows."""

    enabled: bool
    provider: str
    due: dict[str, int]
    """Sessions that are due, by trigger."""
    oldest_due_seconds: float
    background: BackgroundStatus

    @property
    def as_dict(self) -> dict[str, Any]:
        """As JSON says it."""
        oldest = self.background.oldest_request
        return {
            "enabled": self.enabled,
            "provider": self.provider,
            "due": self.due,
            "oldest_due_seconds": round(self.oldest_due_seconds),
            "prompts": self.background.requests,
            "oldest_prompt_seconds": None if oldest is None else round((datetime.now(UTC) - oldest).total_seconds()),
            "batches": self.background.jobs,
            "failing": self.background.failing,
            "proposals": self.background.proposals,
            "workers": self.background.workers,
        }


def run_status(dsn: str | None, *, as_json: bool) -> None:
    """Print it, as a table or as JSON.

    Raises:
        StorageError: The database can't be used.
    """
    status = asyncio.run(read_status(dsn))
    if as_json:
        print(json.dumps(status.as_dict))
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in status.as_dict.items():
        shown = ", ".join(f"{key} {number:,}" for key, number in value.items()) if isinstance(value, dict) else value
        table.add_row(name.replace("_", " "), "none" if shown in ("", None) else str(shown))
    Console(highlight=False).print(table)
    if status.due and not status.background.workers:
        print("No worker runs: discreet worker, or DISCREET_WORKER=true for a server.")


async def read_status(dsn: str | None) -> Status:
    """Return it."""
    settings = load_settings()
    async with open_storage(dsn, settings=settings) as storage, make_worker(storage, settings) as worker:
        due: Counter[str] = Counter()
        oldest = 0.0
        async for session, trigger in worker.due():
            due[trigger] += 1
            oldest = max(oldest, (session.now - session.pending_since).total_seconds())
        live = storage.memory_settings.live
        return Status(
            enabled=live.memory_extraction_enabled,
            provider=f"{live.memory_extraction_provider}:{live.extraction_model}",
            due=dict(due),
            oldest_due_seconds=oldest,
            background=await storage.background.watch.status(),
        )
