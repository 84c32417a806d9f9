"""`discreet erase`, `discreet verify-erasure` and `discreet moments`: erase, look whether something is left, and what stays of people."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from uuid import UUID

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from discreet.access.actor import acting
from discreet.cli.arguments import labels_of, user_id_of
from discreet.cli.piped import STANDARD_INPUT, sources
from discreet.cli.session import operator
from discreet.errors import ReceiptError, UnclearErasureError, UndecodableInputError
from discreet.rights.erasure import RECENT_DAYS, Counts, Erasures, Receipt, Scope
from discreet.rights.erasure.passes import Progress as Told
from discreet.rights.erasure.verifying import Report, verify
from discreet.settings import load_settings
from discreet.storage import open_storage

MAX_MOMENTS = 1_000


def run_erase(
    dsn: str | None,
    user: str | None,
    *,
    subject: bool,
    recent: bool,
    days: float | None,
    thread: str | None,
    memory: UUID | None,
    said: str | None,
    namespaces: Sequence[str],
    checkpoint_schema: str | None,
    dry_run: bool,
    yes: bool,
    receipt_file: Path | None,
    as_json: bool,
) -> int:
    """Erase, or only count; return 1 if nobody said yes, else 0.

    Raises:
        UnclearErasureError: What is to go is not clear.
        InvalidUserError: `user` can't be used.
        StorageError: The database failed. What was begun is gone on with by a worker, or by the same command.
    """
    settings = load_settings()
    user_id = None if user is None else user_id_of(settings, user, subject=subject)
    recent_days = None if not recent else RECENT_DAYS if days is None else days
    scope = _scope(recent_days, thread, memory, said, labels_of(namespaces))

    async def run() -> Receipt | Counts | None:
        async with open_storage(dsn, settings=settings, maintained=False) as storage:
            erasures = Erasures(storage, settings=settings, checkpoint_schema=checkpoint_schema)
            if dry_run or not yes:
                counts = await erasures.preview(user_id, scope)
                if dry_run:
                    return counts
                _print(counts)
                if not _says_yes():
                    return None
            with _shown() as told:
                return await erasures.erase(user_id, scope, progress=told)

    with acting(operator(settings)):
        done = asyncio.run(run())
    if done is None:
        print("Nothing was erased.", file=sys.stderr)
        return 1
    if isinstance(done, Receipt):
        _hand_over(done, receipt_file, as_json=as_json)
    elif as_json:
        print(json.dumps(done))
    else:
        _print(done)
    return 0


def run_verify_erasure(
    dsn: str | None,
    receipt_file: Path,
    *,
    user: str | None,
    subject: bool,
    canaries: Sequence[str],
    files: Sequence[Path],
    as_json: bool,
) -> int:
    """Look whether something is left, and print what; return 1 if so, else 0.

    Raises:
        ReceiptError: The receipt can't be read, or was changed.
        StorageError: The database or Redis failed.
    """
    settings = load_settings()
    try:
        receipt = Receipt.read(receipt_file.read_bytes())
    except OSError as error:
        raise ReceiptError(f"{receipt_file} can't be read ({type(error).__name__}).") from None
    user_id = None if user is None else user_id_of(settings, user, subject=subject)
    redis_url = None if settings.redis_url is None else settings.redis_url.get_secret_value()

    async def run() -> Report:
        async with open_storage(dsn, settings=settings, maintained=False) as storage:
            return await verify(
                receipt,
                works=storage.works_pool,
                keys=storage.background.keys,
                user_id=user_id,
                also_named=[] if user is None else [user],
                canaries=canaries,
                files=[*files, *([settings.data_dir] if settings.data_dir.is_dir() else [])],
                redis_url=redis_url,
            )

    report = asyncio.run(run())
    if as_json:
        findings = [asdict(finding) for finding in report.findings]
        print(
            json.dumps(
                {"left": len(report.left), "looked": report.looked, "findings": findings, "unseen": report.unseen}
            )
        )
    else:
        _print_report(report, receipt)
    return 1 if report.left else 0


def run_moments(dsn: str | None, *, delete: UUID | None, as_json: bool) -> int:
    """List important moments of people who were erased, or delete one; return 1 if there is none of that id, else 0."""

    async def run() -> int:
        async with open_storage(dsn, maintained=False) as storage:
            moments = Erasures(storage).moments
            if delete is not None:
                return 0 if await moments.delete(delete) else 1
            found = await moments.list(limit=MAX_MOMENTS)
        if as_json:
            shown = [
                {"entry_id": str(m.entry_id), "day": f"{m.created_at:%Y-%m-%d}", "app_name": m.app_name, "text": m.text}
                for m in found
            ]
            print(json.dumps(shown, ensure_ascii=False))
            return 0
        for moment in found:
            print(f"{moment.entry_id}  {moment.created_at:%Y-%m-%d}  {moment.text}")
        return 0

    with acting(operator(load_settings())):
        return asyncio.run(run())


def _scope(
    days: float | None, thread: str | None, memory: UUID | None, said: str | None, namespaces: list[list[str]]
) -> Scope:
    """Return the scope that the options say; the whole user if they say none."""
    text = _text_of(said)
    named = [name for name, given in (("recent", days), ("thread", thread)) if given is not None]
    named += ["said"] if said is not None else ["memory"] if memory is not None else []
    if len(named) > 1:
        raise UnclearErasureError
    try:
        since = None if days is None else Scope.recent(days).since
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--days") from None
    try:
        return Scope.model_validate(
            {
                "name": named[0] if named else "all",
                "since": since,
                "thread_id": thread,
                "entry_id": memory,
                "text": text,
                "namespaces": namespaces,
            }
        )
    except ValueError:
        raise UnclearErasureError from None


def _text_of(said: str | None) -> str:
    if said == STANDARD_INPUT:
        return "".join(piece for source in sources([STANDARD_INPUT]) for piece in source.text())
    try:
        (said or "").encode()
    except UnicodeEncodeError as error:
        raise UndecodableInputError("--said", error.start) from None  # it holds the words
    return said or ""


def _hand_over(receipt: Receipt, file: Path | None, *, as_json: bool) -> None:
    """Write the receipt into a file, or print it where that can't be: what it is of is gone."""
    text = receipt.model_dump_json(indent=2)
    if file is not None:
        try:
            file.write_text(text + "\n")
        except OSError as error:
            print(f"The receipt can't be written to {file} ({error.strerror}). It is:", file=sys.stderr)
            file = None
    if as_json or file is None:
        print(text)
        return
    _print(receipt.counts)
    print(f"Erased. The receipt is in {file}; `discreet verify-erasure {file}` checks it.")


def _says_yes() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("This can't be undone. Erase it? [y/N] ").strip().lower() in {"y", "yes"}


@contextmanager
def _shown() -> Iterator[Told]:
    """Yield what shows where the erasure is; on standard error, and on a terminal only."""
    console, gone = Console(stderr=True), 0
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Erasing", total=None)

        def told(place: str, counts: Mapping[str, int]) -> None:
            nonlocal gone
            gone += sum(counts.values())
            progress.update(task, description=f"Erasing, {place}: {gone:,}")

        yield told


def _print(counts: Counts) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("place", "kind"):
        table.add_column(name)
    table.add_column("number", justify="right")
    for place, of_place in counts.items():
        for kind, number in of_place.items():
            table.add_row(place, kind.replace("_", " "), f"{number:,}")
    Console(highlight=False).print(table)
    if not counts:
        print("Nothing is kept that this is about. Callers of a server are found with --subject.")


def _print_report(report: Report, receipt: Receipt) -> None:
    looked = ", ".join(f"{number:,} {what}" for what, number in report.looked.items())
    print(f"The receipt is sound: {receipt.scope} of {receipt.user_key}, done {receipt.done_at:%Y-%m-%d %H:%M} UTC.")
    print(f"Looked through {looked}.")
    for finding in sorted(report.findings, key=lambda each: bool(each.stays_as)):
        means = f"stays: {finding.stays_as}" if finding.stays_as else "LEFT"
        print(f"  {finding.place}: {finding.what}, {finding.times:,} times ({means})")
    for unseen in report.unseen:
        print(f"  not looked into: {unseen}")
    for place in receipt.unreached:
        until = "nobody here can say" if place.until is None else f"{place.until:%Y-%m-%d}"
        print(f"  not reached, until {until}: {place.place}, {place.what}")
    print("Something is left." if report.left else "Nothing is left where it can be looked.")
