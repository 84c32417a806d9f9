"""Choose where the real values of running turns are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import assert_never

from discreet.errors import ConfigurationError
from discreet.ports import KeyProvider, TurnVault
from discreet.redaction.vault import default_vault
from discreet.settings import Settings
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.vault.postgres_vault import PostgresTurnVault
from discreet.storage.vault.redis_vault import RedisTurnVault

Close = Callable[[], Awaitable[None]]


def turn_vault(pool: Pool, settings: Settings, *, keys: KeyProvider | None) -> tuple[TurnVault, list[Close]]:
    """Return the vault that `settings.turn_vault` names, and what is to be done at its end.

    Nothing is connected to: a Redis that is down costs turns their values, not the process its start.

    Raises:
        ConfigurationError: A shared vault without a key, or one in Redis without an address that can be used.
        MissingDependencyError: Redis is asked for, and redis-py is not installed.
    """
    match settings.turn_vault:
        case "memory":
            return default_vault(), []
        case "postgres":
            return PostgresTurnVault(pool, keys=keys, ttl=settings.vault_seconds), []
        case "redis":
            if settings.redis_url is None:
                raise ConfigurationError("DISCREET_TURN_VAULT=redis needs DISCREET_REDIS_URL.")
            vault = RedisTurnVault(settings.redis_url.get_secret_value(), keys=keys, ttl=settings.vault_seconds)
            return vault, [vault.close]
        case _:
            assert_never(settings.turn_vault)
