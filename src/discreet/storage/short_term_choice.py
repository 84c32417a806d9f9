"""Choose where short-term memory lies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from discreet.ports import ShortTermStore, TextRedactor
from discreet.settings import Settings
from discreet.storage.pool import Pool
from discreet.storage.redis_short_term import RedisShortTermStore
from discreet.storage.sealing import FieldSealer
from discreet.storage.short_term import PostgresShortTermStore

Close = Callable[[], Awaitable[None]]


def short_term_store(
    pool: Pool, settings: Settings, *, redactor: TextRedactor, sealer: FieldSealer
) -> tuple[ShortTermStore, list[Close]]:
    """Return the store at `settings.redis_url`, else the one in the database, and what is to be done at its end.

    Nothing is connected to: a Redis that is down costs turns their short-term memory, not the process its start.

    Raises:
        MissingDependencyError: Redis is asked for, and redis-py is not installed.
        ConfigurationError: The URL can't be used.
    """
    if settings.redis_url is None:
        return PostgresShortTermStore(pool, redactor=redactor, sealer=sealer), []
    store = RedisShortTermStore(settings.redis_url.get_secret_value(), redactor=redactor, sealer=sealer)
    return store, [store.close]
