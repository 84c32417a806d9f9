"""What `discreet doctor` finds in the rows: what is not sealed, what can't be opened, and what is missing."""

from __future__ import annotations

from discreet.access.user_keys import UserKeys, load_user_keys
from discreet.cli.checks import Check
from discreet.encryption import keys_from_settings
from discreet.ports import KeyProvider
from discreet.rights.erasure.plans import Plans
from discreet.settings import Settings
from discreet.storage.database.access import access_of
from discreet.storage.database.connecting.pool import Pool, make_pool, sees_everybody
from discreet.storage.database.sealing import MAX_NAMED
from discreet.storage.memories.entry_verifying import verify_counts
from discreet.storage.rekeying import STORED_BEFORE, Rekeying, plain_rows


async def stored_checks(dsn: str, settings: Settings) -> list[Check]:
    """Return what there is to say of the rows of a database whose schema is up to date.

    Raises:
        StorageError: The database failed.
    """
    keys = keys_from_settings(settings)
    if keys is None:
        return []
    user_keys = load_user_keys(settings)
    async with make_pool(access_of(dsn, settings).worker, max_size=1) as pool:
        if not await sees_everybody(pool):
            say = "Not looked at: this role sees one user at a time. Name the worker's in DISCREET_POSTGRES_WORKER_DSN (docs/roles.md)."
            return [Check("sealed rows", "ok", say)]
        return [await _sealed(pool, keys), await _counted(pool, user_keys)]


async def _sealed(pool: Pool, keys: KeyProvider) -> Check:
    name = "sealed rows"
    if plain := await plain_rows(pool):
        told = ", ".join(f"{rows:,} of {table}" for table, rows in plain.items())
        return Check(name, "fail", f"Not sealed, and so not read: {told}. {STORED_BEFORE}")
    opened, lost = await Rekeying(pool, keys=keys).sampled()
    if lost:
        told = ", ".join(f"{values:,} of {table}" for table, values in lost.items())
        say = f"Of {opened:,} values that were tried can't be opened: {told}. `discreet rekey --dry-run` tries all."
        return Check(name, "fail", say)
    return Check(name, "ok", f"No row is plain, and {opened:,} values that were tried can be opened.")


async def _counted(pool: Pool, user_keys: UserKeys) -> Check:
    name, report = "counted memories", await verify_counts(pool, user_keys, erasing=Plans(user_keys).erasing)
    if report.not_ours:
        told = ", ".join(map(str, report.not_ours[:MAX_NAMED]))
        say = f"{len(report.not_ours):,} open erasures were written or are held past Discreet: {told}. Delete them from discreet.erasure."
        return Check(name, "fail", say)
    if report.found:
        say = f"{report.found:,} people have other memories than were counted: `discreet audit verify` names them."
        return Check(name, "fail", f"{say} Restore a backup, or delete what is theirs.")
    if report.erasing:
        told = ", ".join(map(str, report.erasing[:MAX_NAMED]))
        say = f"{len(report.erasing):,} people are being erased: look again when that is done. {told}"
        return Check(name, "warn", say)
    return Check(name, "ok", f"{report.memories:,} memories of {report.people:,} people are those that were counted.")
