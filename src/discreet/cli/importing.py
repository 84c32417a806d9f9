"""Run `discreet import`, and say what came of it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console
from rich.table import Table

from discreet.access.actor import acting
from discreet.access.identity import Identities, load_identities
from discreet.cli.arguments import user_id_of
from discreet.cli.progress import bar, interruptible, spinner
from discreet.cli.session import operator
from discreet.errors import ImportSourceError
from discreet.importing.bad_rows import BadRowsFile, default_file
from discreet.importing.checking import EXPORT, Checker
from discreet.importing.importer import Importer
from discreet.importing.opening import open_source
from discreet.importing.progress import ProgressFile
from discreet.importing.report import Report
from discreet.importing.source import ThreadState
from discreet.redaction.configured import default_redactor
from discreet.redaction.walker import redact_object
from discreet.settings import Settings, load_settings
from discreet.storage import open_storage

DIGEST_CHARS = 12

MAX_APP_CHARS = 200
"""As of `MemoryRecord.app_name`."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command was asked for."""

    kind: str
    location: str
    user: str | None
    subject: bool
    app_name: str | None
    dry_run: bool
    sample: int
    bad_rows: Path | None
    resume: bool
    columns: Sequence[str]
    options: Mapping[str, str]
    dsn: str | None
    as_json: bool

    def name(self, identities: Identities, settings: Settings) -> str:
        """Return what the files of this import are named by, which tells nothing of a DSN: the same for the same import."""
        given = settings.postgres_dsn
        target = self.dsn or (given.get_secret_value() if given else str(settings.data_dir.resolve()))
        # The folder, as the location may be of a file in it.
        said = [
            self.kind,
            str(Path.cwd()),
            self.location,
            target,
            self.user,
            self.subject,
            self.app_name,
            *self.columns,
        ]
        key = identities.key_for("import")
        digest = hmac.digest(key, json.dumps([*said, dict(self.options)]).encode(), hashlib.sha256)
        return f"{self.kind}-{digest.hex()[:DIGEST_CHARS]}"


def run_import(asked: Asked) -> int:
    """Import and print what came of it; return 1 if rows could not be taken, else 0.

    Raises:
        ImportSourceError: The source can't be read. What was stored stays, for --resume.
        InvalidUserError: --user can't be used.
        SensitiveIdError: It holds a sensitive value, and the settings refuse such ids.
        ProviderError: The embedding model failed. What was stored stays, for --resume.
        StorageError: The database failed. What was stored stays, for --resume.
    """
    if asked.kind == EXPORT and asked.user is None:
        raise ImportSourceError("An export does not name its user. Say whose it becomes: --user.")
    if asked.app_name is not None and not 0 < len(asked.app_name.strip()) <= len(asked.app_name) <= MAX_APP_CHARS:
        raise ImportSourceError(f"--app takes 1 to {MAX_APP_CHARS} characters.")
    settings = load_settings()
    identities = load_identities(settings)
    user_id = None if asked.user is None else user_id_of(settings, asked.user, subject=asked.subject, stores=True)
    redactor = default_redactor()
    name = asked.name(identities, settings)
    if asked.app_name is not None and redactor.redact(asked.app_name) != asked.app_name:
        raise ImportSourceError("--app holds a sensitive value: name an application.")
    ours = default_file(settings.data_dir, name)
    bad_rows = BadRowsFile(asked.bad_rows or ours, replaces=asked.bad_rows is None)
    progress = ProgressFile(settings.data_dir / "imports" / f"{name}.json")
    samples: list[Any] = []

    def keep(record: Any) -> None:
        if len(samples) < asked.sample:
            samples.append(redact_object(_shown(record), redactor))

    async def imported() -> Report:
        async with (
            open_source(asked.kind, asked.location, columns=asked.columns, options=asked.options) as source,
            open_storage(asked.dsn, settings=settings, maintained=False) as storage,
        ):
            with _shown_progress(await source.count()) as show:
                importer = Importer(
                    storage=storage,
                    checker=Checker(
                        source=source.name,
                        redactor=redactor,
                        user_id=user_id,
                        app_name=asked.app_name,
                        identity_of=identities.of if asked.subject else str,
                    ),
                    bad_rows=bad_rows,
                    progress=progress,
                    dry_run=asked.dry_run,
                    told=lambda report: show(report.rows),
                    sample=keep if asked.sample else None,
                )
                return await importer.run(source, resume=asked.resume)

    begun = monotonic()
    stays = "Stopped. What was stored stays; go on with --resume."
    with acting(operator(settings)), interruptible(stays), nullcontext() if asked.dry_run else progress.held():
        report = asyncio.run(imported())
    if asked.as_json:
        print(json.dumps({**report.told(), **({"sample": samples} if asked.sample else {})}, ensure_ascii=False))
    else:
        _print(report, samples, bad_rows.path, monotonic() - begun)
    return 0 if report.is_whole else 1


def _shown(record: Any) -> Any:
    """Return a record as JSON, without what it does not say."""
    if hasattr(record, "model_dump"):
        return record.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    if isinstance(record, ThreadState):
        return {"thread_id": record.thread_id, "messages": sum(map(len, record.messages.values()))}
    return {"namespace": [*record.namespace], "key": record.key, "value": record.value}


@contextmanager
def _shown_progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield what shows how many rows are settled, of so many if that is known."""
    if total is not None:
        with bar("Importing", total) as show:
            yield show
        return
    with spinner("Importing") as tell:
        yield lambda rows: tell(f"Importing: {rows:,} rows")


def _print(report: Report, samples: Sequence[Any], bad_rows: Path, seconds: float) -> None:
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False)
    table.add_column("rows")
    for name in ("would be new" if report.dry_run else "new", "already there"):
        table.add_column(name, justify="right")
    for kind in sorted(report.new | report.there):
        table.add_row(kind.replace("_", " "), f"{report.new[kind]:,}", f"{report.there[kind]:,}")
    if table.row_count:
        console.print(table)
    for sample in samples:
        print(json.dumps(sample, ensure_ascii=False))
    verb = "read, nothing stored" if report.dry_run else "settled"
    rate = f"{seconds:,.0f} s, {report.rows / max(seconds, 0.001):,.0f} rows/s"
    print(f"{report.rows:,} rows of {report.users:,} users {verb} ({rate}).")
    for line in _remarks(report, bad_rows):
        print(line)


def _remarks(report: Report, bad_rows: Path) -> Iterator[str]:
    """Yield what was not imported, and why."""
    for kind, left_out in sorted(report.left_out.items()):
        yield f"Not imported: {left_out.rows:,} {kind.replace('_', ' ')} ({left_out.reason})."
    for reason, rows in report.bad.most_common():
        yield f"Bad: {rows:,} rows. {reason}"
    if report.bad and not report.dry_run:
        yield f"{bad_rows} has them, as they are: keep it where that is right."
    if report.erased:
        yield f"Not stored: {report.erased:,} rows of users who were erased meanwhile."
    if report.over_limit:
        yield f"{report.over_limit:,} users have as many memories as one may have: `discreet settings set max_memories_per_user`, and import again."
