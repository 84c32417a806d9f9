"""The turn vault in Redis, for those who run one: one hash a turn, `vault:<digest>`, that expires by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from discreet.errors import ShortTermError, StorageUnavailableError
from discreet.ports import KeyProvider
from discreet.storage.redis import RedisClient
from discreet.storage.vault.shared import Rows, SharedTurnVault
from discreet.storage.vault.values import MAX_TURN_BYTES, TTL_SECONDS

ANSWER_SECONDS = 3.0
TOTAL_SECONDS = 5.0
"""More than for short-term memory: 30 MB take 2.4 s at 100 Mbit/s."""

_HOLD = """
local size = tonumber(redis.call('HGET', KEYS[1], 'size') or 0)
local before = size
for at = 3, #ARGV, 2 do
    local more = #ARGV[at + 1]
    if redis.call('HEXISTS', KEYS[1], ARGV[at]) == 0 and size + more <= tonumber(ARGV[2]) then
        redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
        size = size + more
    end
end
if size > before then
    redis.call('HSET', KEYS[1], 'size', string.format('%.0f', size))
end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
"""
"""KEYS: a turn. ARGV: ms that it lives on, bytes that it holds at most, then names and sealed values in turn.
A name keeps the value it had first; a value that would be over the bound is left out."""

_NAME_BYTES = 16
"""Of a field that is a value; the field `size` is shorter."""


class RedisTurnVault(SharedTurnVault):
    """Keeps the values of running turns sealed in Redis or Valkey, one server or a cluster: one round trip a method.

    A turn is gone `ttl` seconds after it was last added to, or as many as it was then given, and holds at most `max_bytes`, sealed. What the server sees
    and stores are digests and ciphertext.
    """

    def __init__(
        self, url: str, *, keys: KeyProvider | None, ttl: float = TTL_SECONDS, max_bytes: int = MAX_TURN_BYTES
    ) -> None:
        """Use the server at `url` from the first call on, on the running event loop; `close` when done.

        Raises:
            MissingDependencyError: redis-py is not installed.
            ConfigurationError: The URL can't be used, or there is no key.
        """
        super().__init__(keys, ttl)
        self._client = RedisClient(url, answer=ANSWER_SECONDS, total=TOTAL_SECONDS)
        self._max_bytes = max_bytes

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _add(self, turn_key: UUID, rows: Rows, seconds: float) -> None:
        given = [part for value_key, sealed in rows for part in (value_key.bytes, sealed)]
        with _vault_errors():
            await self._client.run(_HOLD, (_key(turn_key),), math.ceil(seconds * 1000), self._max_bytes, *given)

    async def _found(self, turn_key: UUID) -> Rows:
        with _vault_errors():
            found = await self._client.command("HGETALL", _key(turn_key))
        return [(UUID(bytes=name), sealed) for name, sealed in found.items() if len(name) == _NAME_BYTES]

    async def _forget(self, turn_key: UUID) -> None:
        with _vault_errors():
            await self._client.command("DEL", _key(turn_key))


def _key(turn_key: UUID) -> str:
    return f"vault:{turn_key.hex}"


@contextmanager
def _vault_errors() -> Iterator[None]:
    try:
        yield
    except ShortTermError as error:
        what_to_do = "Check DISCREET_REDIS_URL." if type(error) is ShortTermError else str(error)
        raise StorageUnavailableError(
            f"The turn vault can't be reached, or refused. Turns go on with placeholders. {what_to_do}"
        ) from None
