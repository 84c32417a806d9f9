"""Where a database is, and what must be known to use it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from discreet.errors import ConfigurationError, DiscreetError, LoginRefusedError
from discreet.named_objects import named_function
from discreet.settings import Pooler, Settings, load_settings
from discreet.storage.database.connecting.names import OURS

PasswordProvider = Callable[[], str | Awaitable[str]]
"""Called for each new connection, in a thread if it is no coroutine function; a cloud's tokens last some minutes."""

CONNECT_SECONDS = 10
"""How long a server may take to answer, unless the DSN sets `connect_timeout`. Each host of several has as long."""

_DEFAULTS = {
    "connect_timeout": CONNECT_SECONDS,
    # A server whose machine is gone says nothing: without these a connection waits for it for two hours.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""By parameter of libpq (PostgreSQL docs, section 34.1.2)."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A database, as a DSN or a service file (`service=…`) says it, and what our settings say besides."""

    dsn: str = field(repr=False)
    """As it was given. May hold a password."""
    schema: str = OURS
    """Where our tables are."""
    password: PasswordProvider | None = None
    """Where passwords come from, if not from the DSN."""
    pooler: Pooler = "auto"
    """Whether a pooler in transaction mode is in between."""

    @property
    def conninfo(self) -> str:
        """`dsn` for the driver, with time-outs unless it sets its own.

        Raises:
            ConfigurationError: It can't be read; the message leaves it out, it may hold a password.
        """
        given = self._parameters()
        missing = {name: value for name, value in _DEFAULTS.items() if name not in given}
        return make_conninfo(self.dsn, **missing, client_encoding="UTF8")

    @property
    def seeks_primary(self) -> bool:
        """Whether `dsn` says to connect to a server that can be written to only."""
        return self._parameters().get("target_session_attrs") in {"read-write", "primary"}

    async def options(self) -> dict[str, Any]:
        """Return what else the driver needs to connect.

        Raises:
            LoginRefusedError: The password provider failed, or took `CONNECT_SECONDS`.
        """
        if self.password is None:
            return {}
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                password = await _provided(self.password)
        except DiscreetError:
            raise
        except TimeoutError:
            raise LoginRefusedError(
                f"No password: the password provider said nothing for {CONNECT_SECONDS} seconds."
            ) from None
        except Exception as error:  # noqa: BLE001  # a cloud's client fails in ways of its own, and may quote a credential
            raise LoginRefusedError(
                f"No password: the password provider failed ({type(error).__name__}). Call it by itself to see why."
            ) from None
        if not isinstance(password, str) or "\0" in password:
            raise LoginRefusedError("No password: what the password provider returned is none.")
        return {"password": password}

    def _parameters(self) -> dict[str, Any]:
        try:
            return dict(conninfo_to_dict(self.dsn))
        except ProgrammingError:
            # Not chained: the driver quotes the part that it can't read.
            raise ConfigurationError(
                "The PostgreSQL DSN can't be read. It looks like postgresql://user:password@host:5432/database."
            ) from None


def target_of(
    dsn: str | Target, settings: Settings | None = None, *, password: PasswordProvider | None = None
) -> Target:
    """Return `dsn` with what `settings`, by default those of the environment, say besides; a target as it is.

    Raises:
        ConfigurationError: The password provider can't be imported.
    """
    if isinstance(dsn, Target):
        return dsn
    settings = settings or load_settings()
    return Target(
        dsn=dsn,
        schema=settings.db_schema,
        password=password or _provider(settings.postgres_password_provider),
        pooler=settings.pooler,
    )


async def _provided(provider: PasswordProvider) -> object:
    if inspect.iscoroutinefunction(provider):
        return await provider()
    said = await asyncio.to_thread(provider)
    return await said if inspect.isawaitable(said) else said


def _provider(name: str | None) -> PasswordProvider | None:
    return None if name is None else named_function("DISCREET_POSTGRES_PASSWORD_PROVIDER", name)


def connection_string(dsn: str | Target) -> str:
    """Return `dsn` for the driver, with time-outs unless it sets its own.

    Raises:
        ConfigurationError: It can't be read; the message leaves it out, it may hold a password.
    """
    return target_of(dsn).conninfo
