"""Choose where short-term memory lies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from discreet.access.user_keys import UserKeys
from discreet.ports import LiveSettings, TextRedactor
from discreet.settings import Settings
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.epochs import Epochs
from discreet.storage.short_term.postgres_store import PostgresShortTermStore
from discreet.storage.short_term.redis_store import RedisShortTermStore

Close = Callable[[], Awaitable[None]]


def short_term_store(
    pool: Pool,
    settings: Settings,
    *,
    redactor: TextRedactor,
    sealer: FieldSealer,
    keys: UserKeys,
    memory_settings: LiveSettings,
) -> tuple[PostgresShortTermStore | RedisShortTermStore, list[Close]]:
    """Return the store at `settings.redis_url`, else the one in the database, and what is to be done at its end.

    Nothing is connected to: a Redis that is down costs turns their short-term memory, not the process its start.

    Raises:
        MissingDependencyError: Redis is asked for, and redis-py is not installed.
        ConfigurationError: The URL can't be used.
    """
    if settings.redis_url is None:
        return PostgresShortTermStore(
            pool, redactor=redactor, sealer=sealer, keys=keys, memory_settings=memory_settings
        ), []
    url, epochs = settings.redis_url.get_secret_value(), Epochs(pool, keys)
    store = RedisShortTermStore(url, redactor=redactor, sealer=sealer, epochs=epochs, memory_settings=memory_settings)
    return store, [store.close]
