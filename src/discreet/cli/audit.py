"""`discreet audit`: verify the audit trail, read it, and keep its seals outside of the database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.box import HORIZONTALS
from rich.console import Console
from rich.table import Table

from discreet.access.user_keys import UserKeys, load_user_keys
from discreet.cli.arguments import user_id_of
from discreet.cli.piped import quiet_pipe
from discreet.cli.progress import bar
from discreet.driver_errors import storage_errors
from discreet.errors import AuditAnchorError
from discreet.ports import NOBODY
from discreet.rights.erasure.plans import Plans
from discreet.settings import Settings, load_settings
from discreet.storage import resolve_dsn
from discreet.storage.audit.anchors import anchored, read_anchors
from discreet.storage.audit.choice import chosen_anchors
from discreet.storage.audit.exporting import entries
from discreet.storage.audit.marks import bind_database
from discreet.storage.audit.sealing import AuditSealer
from discreet.storage.audit.verifying import MAX_FINDINGS, Report, entries_there_are, verify
from discreet.storage.database.connecting.pool import Pool, make_pool, sees_everybody
from discreet.storage.database.connecting.target import target_of
from discreet.storage.memories.entry_verifying import CountReport, verify_counts


def run_verify(
    dsn: str | None, *, user: str | None, user_key: UUID | None, subject: bool, anchors: Sequence[Path], as_json: bool
) -> int:
    """Verify and print what is not as it was written; return 1 if something is, else 0.

    Raises:
        InvalidUserError: `user` can't be used.
        AuditAnchorError: A file of anchors can't be read.
        StorageError: The database can't be used, or this role sees not all of the trail.
    """
    settings = load_settings()
    keys = load_user_keys(settings)
    whose = _key_of(settings, keys, user, user_key, subject=subject)
    kept = [anchor for path in anchors for anchor in read_anchors(path)]

    async def run() -> tuple[Report, CountReport | None]:
        async with _opened(dsn, settings) as pool:
            with bar("Verifying", await entries_there_are(pool)) as advance:
                report = await verify(pool, key=keys.audit_key, user_key=whose, anchors=kept, advance=advance)
            sees_memories = await sees_everybody(pool)  # an auditor sees the trail alone
            if not sees_memories:
                return report, None
            return report, await verify_counts(pool, keys, erasing=Plans(keys).erasing, user_key=whose)

    report, counts = asyncio.run(run())
    found = report.found + (0 if counts is None else counts.found + len(counts.erasing) + len(counts.not_ours))
    if as_json:
        memories = None if counts is None else asdict(counts)
        print(json.dumps({"sound": not found, **asdict(report), "memories": memories}, default=str))
    else:
        _print(report)
        _print_counts(counts)
    return 1 if found else 0


def run_export(
    dsn: str | None,
    *,
    user: str | None,
    user_key: UUID | None,
    subject: bool,
    since: datetime | None,
    until: datetime | None,
) -> None:
    """Print entries as JSON Lines, one chain after the other.

    Raises:
        InvalidUserError: `user` can't be used.
        StorageError: The database can't be used, or this role sees not all of the trail.
    """
    settings = load_settings()
    whose = _key_of(settings, load_user_keys(settings), user, user_key, subject=subject)
    since, until = (None if at is None else at.replace(tzinfo=UTC) for at in (since, until))

    async def run() -> None:
        async with _opened(dsn, settings) as pool:
            async for row in entries(pool, user_key=whose, since=since, until=until):
                print(json.dumps(row, ensure_ascii=False, default=_written))

    with quiet_pipe():
        asyncio.run(run())


def run_anchor(dsn: str | None, *, file: Path | None, url: str | None, as_json: bool) -> None:
    """Seal what has changed, keep the last seal in a file and at an address, and print it.

    Raises:
        AuditAnchorError: It could not be kept, or nobody said where.
        ConfigurationError: The address can't be used, or the database's identity key is another.
        StorageError: The database can't be used, or this role may not seal.
    """
    settings = load_settings()
    keys = load_user_keys(settings)
    anchors = chosen_anchors(settings, file=file, url=url)
    if not anchors:
        raise AuditAnchorError(
            "Say where: --file PATH, --url URL, or set DISCREET_AUDIT_ANCHOR_FILE or DISCREET_AUDIT_ANCHOR_URL."
        )

    async def run() -> dict[str, Any] | None:
        async with _opened(dsn, settings) as pool:
            with storage_errors():
                await bind_database(pool, keys)
            sealer = AuditSealer(pool, key=keys.audit_key)
            await sealer.seal()
            last = await sealer.last()
            if last is None:
                return None
            for anchor in anchors:
                await anchor(last)
            return anchored(last)

    kept = asyncio.run(run())
    if as_json:
        print(json.dumps(kept))
    elif kept is None:
        print("The trail has no entries yet.")
    else:
        print(f"Seal {kept['seal']:,} of {kept['at']} is anchored: {kept['hash']}")


def _key_of(
    settings: Settings, keys: UserKeys, user: str | None, user_key: UUID | None, *, subject: bool
) -> UUID | None:
    """Return whose chain is meant; None: everybody's. A key goes before a name."""
    if user is None or user_key is not None:
        return user_key
    return keys.of_user(user_id_of(settings, user, subject=subject))


@asynccontextmanager
async def _opened(dsn: str | None, settings: Settings) -> AsyncIterator[Pool]:
    """Yield a pool as the role that sees most, without the rest of a storage; nothing is migrated."""
    if dsn is None and settings.postgres_worker_dsn is not None:
        dsn = settings.postgres_worker_dsn.get_secret_value()
    async with resolve_dsn(dsn, settings) as found:
        pool = make_pool(target_of(found, settings), max_size=2)
        try:
            with storage_errors():
                await pool.open(wait=True)
            yield pool
        finally:
            await pool.close()


def _print(report: Report) -> None:
    if report.findings:
        table = Table("whose", "number", "what", box=HORIZONTALS)
        for found in report.findings:
            whose = "(seals)" if found.user_key is None else "(nobody)" if found.user_key == NOBODY else found.user_key
            table.add_row(str(whose), "-" if found.number is None else str(found.number), found.problem)
        Console(highlight=False).print(table)
    anchors = f", {report.anchors:,} anchors" if report.anchors else ""
    print(f"{report.entries:,} entries in {report.chains:,} chains, {report.seals:,} seals{anchors}.")
    if report.found > MAX_FINDINGS:
        print(f"The first {MAX_FINDINGS:,} findings are listed.")
    print(f"{report.found:,} findings." if report.found else "All is as it was written.")
    if report.unsealed:
        print(f"{report.unsealed:,} chains have entries that no seal covers yet.")


def _print_counts(counts: CountReport | None) -> None:
    if counts is None:
        print("Memories were not counted: this role sees the trail alone.")
        return
    for found in counts.findings:
        print(f"{found.user_key}: {found.problem} {found.counted:,} were counted, {found.there:,} are there.")
    print(
        f"{counts.memories:,} memories of {counts.people:,} people, {counts.found:,} of whom have others than were counted."
    )
    for user_key in counts.erasing:
        print(f"{user_key}: Being erased. Let `discreet erase` or a worker finish it, and look again.")
    for erasure_key in counts.not_ours:
        print(f"The open erasure {erasure_key} was written or is held past Discreet. Delete it from discreet.erasure.")


def _written(value: object) -> str:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case bytes():
            return value.hex()
    return str(value)
