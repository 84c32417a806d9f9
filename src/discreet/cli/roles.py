"""`discreet roles`: the roles and policies by which the database keeps users apart, to be shown or made."""

from __future__ import annotations

import asyncio
import json

from discreet.errors import ConfigurationError
from discreet.settings import load_settings
from discreet.storage import resolve_dsn
from discreet.storage.database.access import access_of
from discreet.storage.database.roles import RoleNames, RolesApplied, apply_roles, role_statements


def run_roles(dsn: str | None, *, prefix: str, apply: bool, as_json: bool) -> None:
    """Print the SQL, or run it and say what was done.

    Raises:
        ConfigurationError: The prefix can't be used.
        MigrationError: The role may not, or there are no tables yet.
        StorageError: The database failed.
    """
    names = RoleNames(prefix)
    if apply:
        _tell(asyncio.run(_apply(dsn, names, quiet=as_json)), as_json=as_json)
        return
    statements = asyncio.run(_print(dsn, names))
    print(json.dumps({"statements": statements}) if as_json else "\n".join(f"{statement};" for statement in statements))


async def _apply(dsn: str | None, names: RoleNames, *, quiet: bool) -> RolesApplied:
    settings = load_settings()
    async with resolve_dsn(dsn, settings) as found:
        if dsn is None and settings.postgres_dsn is None:
            raise ConfigurationError(
                "The embedded server has its roles, which a start makes. Name a DSN for another server."
            )
        report = (lambda _: None) if quiet else (lambda what: print(f"made {what}"))
        return await apply_roles(access_of(found, settings).owner, names=names, report=report)


async def _print(dsn: str | None, names: RoleNames) -> list[str]:
    settings = load_settings()
    async with resolve_dsn(dsn, settings) as found:
        return await role_statements(access_of(found, settings).owner, names=names)


def _tell(done: RolesApplied, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({name: list(getattr(done, name)) for name in ("steps", "foreign")}))
        return
    if not done.steps:
        print("All roles and policies are as they are to be.")
    if done.foreign:
        print("Somebody else put there, which may let more be seen, and which is left as it is:")
        print("\n".join(f"  {what}" for what in done.foreign))
