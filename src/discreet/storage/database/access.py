"""As which roles a process works on its database."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field, replace

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from discreet.driver_errors import storage_errors
from discreet.locks import setup_lock
from discreet.settings import Settings
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.target import PasswordProvider, Target, target_of
from discreet.storage.database.roles import RoleNames, apply_roles


@dataclass(frozen=True, kw_only=True)
class DatabaseAccess:
    """One database, as the roles that a process has for it."""

    app: Target = field(repr=False)
    """Serves users."""
    worker: Target = field(repr=False)
    """Sees all of them. The same as `app` where no other is named: whether that may is found out."""
    owner: Target = field(repr=False)
    """Owns the tables. The same as `app` where no other is named: migrations that are missing fail then if it doesn't."""
    embedded: bool = False
    """Whether it is our own server, of which the owner is the superuser."""

    @property
    def has_roles(self) -> bool:
        """Whether there is an owner apart from the application."""
        return self.owner != self.app


def access_of(dsn: str, settings: Settings, *, password: PasswordProvider | None = None) -> DatabaseAccess:
    """Return as which roles `settings` say to work on the database `dsn`, if it is theirs; else as the one that it names."""
    app = target_of(dsn, settings, password=password)
    if settings.postgres_dsn is None or dsn != settings.postgres_dsn.get_secret_value():
        return DatabaseAccess(app=app, worker=app, owner=app)
    worker, owner = settings.postgres_worker_dsn, settings.postgres_owner_dsn
    return DatabaseAccess(
        app=app,
        worker=app if worker is None else target_of(worker.get_secret_value(), settings),
        owner=app if owner is None else target_of(owner.get_secret_value(), settings),
    )


async def prepare_embedded(dsn: str, settings: Settings) -> DatabaseAccess:
    """Return the roles of our own server, whose tables are there; make what is missing of them.

    Their passwords follow from that of the owner, so that every process that has the data folder has them.

    Raises:
        StorageError: The database failed.
        MigrationError: Others keep a table locked.
    """
    owner = target_of(dsn, settings)
    names = RoleNames()
    logins = {role: _password(dsn, role) for role in (names.app, names.worker)}
    await apply_roles(owner, names=names)
    with storage_errors():
        async with await connect(owner) as holder, setup_lock(holder), await connect(owner) as conn:
            for role, password in logins.items():  # at each start: that of the owner is another after an upgrade
                await conn.execute(SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(Identifier(role), Literal(password)))
    targets = {
        role: replace(owner, dsn=make_conninfo(dsn, user=role, password=password)) for role, password in logins.items()
    }
    return DatabaseAccess(app=targets[names.app], worker=targets[names.worker], owner=owner, embedded=True)


def _password(dsn: str, role: str) -> str:
    secret = str(conninfo_to_dict(dsn)["password"]).encode()
    return hmac.new(secret, f"password of {role}".encode(), hashlib.sha256).hexdigest()
