"""`discreet worker`: background memory until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict

from discreet.errors import DiscreetError
from discreet.metrics_server import metrics_port
from discreet.otel import exported_spans
from discreet.redaction.configured import default_redactor
from discreet.redaction.logged.formats import log_to_stderr
from discreet.redaction.logs import redact_logs
from discreet.rights.erasure import Erasures
from discreet.settings import load_settings
from discreet.storage import Storage, open_storage
from discreet.storage.maintenance import maintenance
from discreet.worker.beside import make_worker


def run_worker(dsn: str | None, *, once: bool, as_json: bool) -> int:
    """Run until SIGTERM or Ctrl-C; with `once` do what can be done now, and print what that was.

    Return 1 if a provider failed meanwhile, or something could not be swept, else 0.

    Raises:
        StorageError: The database can't be used.
        ConfigurationError: A setting can't be used.
    """
    if not once:
        log_to_stderr(load_settings().log_format)
        redact_logs(default_redactor())
    if once:
        return asyncio.run(_once(dsn, as_json=as_json))
    asyncio.run(_run(dsn))
    return 0


async def _run(dsn: str | None) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    settings = load_settings()
    async with open_storage(dsn, settings=settings) as storage, make_worker(storage, settings) as worker:
        logging.getLogger(__name__).info("worker.started")
        erasures = Erasures(storage, settings=settings)
        with metrics_port(settings), exported_spans(settings):
            async with maintenance({"erasures": erasures.resume}):
                await worker.run(stopping)
        logging.getLogger(__name__).info("worker.stopped")


async def _once(dsn: str | None, *, as_json: bool) -> int:
    settings = load_settings()
    opened = open_storage(dsn, settings=settings, maintained=False)  # what goes on beside it would do some of it unseen
    async with opened as storage, make_worker(storage, settings) as worker:
        await Erasures(storage, settings=settings).resume()
        done = await worker.once()
        swept, unswept = await _swept(storage)
        status = await storage.background.watch.status()
    if as_json:
        waiting = {state: status.requests.get(state, 0) for state in ("pending", "submitted")}
        print(json.dumps({**asdict(done), **waiting, "swept": swept}))
    else:
        print(
            f"{done.fired:,} sessions taken, {done.batches:,} batches made, {done.attended:,} looked at; "
            f"{status.requests.get('pending', 0):,} prompts wait, {status.requests.get('submitted', 0):,} are in batches; "
            f"{sum(swept.values()):,} rows went since their time was over."
        )
    if done.problem is not None:
        print(f"discreet: {done.problem} What waits is tried again.", file=sys.stderr)
    if unswept is not None:
        print(f"discreet: {unswept} What was to go is tried again.", file=sys.stderr)
    return 0 if done.problem is None and unswept is None else 1


async def _swept(storage: Storage) -> tuple[Mapping[str, int], DiscreetError | None]:
    """Let go of what was kept as long as it is kept; return how much that was, and why something of it is still there."""
    try:
        return await storage.retention.sweep(), None
    except DiscreetError as error:
        return {}, error
