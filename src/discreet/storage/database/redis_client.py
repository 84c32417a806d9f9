"""A connection to Redis that fails soon, and with our own error."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from discreet.errors import ConfigurationError, MissingDependencyError, ShortTermError, UnverifiedRedisError

CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 1.0
"""A healthy server answers in less than a millisecond; nobody waits longer for a sick one."""
TOTAL_SECONDS = 2.5
"""For all of one call: a free connection, connecting anew, the answer."""
CONNECTIONS = 32
"""At most, a process. A call holds one for less than a millisecond; more callers wait for a free one."""
SCAN_COUNT = 1_000
"""Keys looked at in one round trip when all keys are looked through."""


class RedisClient:
    """The few ways in which we talk to Redis. It connects when it is first used."""

    def __init__(self, url: str, *, answer: float = ANSWER_SECONDS, total: float = TOTAL_SECONDS) -> None:
        """Talk to the server at `url`: redis://, rediss:// (TLS, verified) or unix://.

        `answer` is how many seconds the server may be silent, `total` how many all of one call may take.

        Raises:
            MissingDependencyError: redis-py is not installed.
            ConfigurationError: The URL can't be read, or turns off that a TLS server is verified.
        """
        try:
            import redis.asyncio as redis_asyncio  # noqa: PLC0415  # optional
            from redis.asyncio.retry import Retry  # noqa: PLC0415  # as above
            from redis.backoff import NoBackoff  # noqa: PLC0415  # as above
            from redis.exceptions import ConnectionError as LostConnectionError  # noqa: PLC0415  # as above
            from redis.exceptions import RedisError  # noqa: PLC0415  # as above
        except ImportError as error:
            raise MissingDependencyError(
                "DISCREET_REDIS_URL is set, and redis-py is not installed: pip install 'discreet[redis]'."
            ) from error
        try:
            pool: Any = redis_asyncio.BlockingConnectionPool.from_url(
                url,
                max_connections=CONNECTIONS,
                timeout=CONNECT_SECONDS,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=answer,
                # Once, for a connection that the server had closed; a server that hangs is not asked again.
                retry=Retry(NoBackoff(), 1, supported_errors=(LostConnectionError,)),
                protocol=2,  # what every version of Redis and Valkey speaks
            )
        except ValueError:  # not chained: the message may quote the URL, which may hold a password
            raise ConfigurationError(
                "DISCREET_REDIS_URL can't be read. It looks like redis://127.0.0.1:6379/0 or rediss://user:password@host:6380/0."
            ) from None
        given = pool.connection_kwargs
        if given.get("ssl_cert_reqs", "required") != "required" or not given.get("ssl_check_hostname", True):
            raise ConfigurationError(
                "DISCREET_REDIS_URL turns off that the server is verified. Name its authority by ssl_ca_certs=/path instead."
            )
        self._redis: Any = redis_asyncio.Redis.from_pool(pool)
        self._total = total
        self._scripts: dict[str, Any] = {}
        self._error: type[Exception] = RedisError

    async def run(self, script: str, keys: Sequence[str], *values: str | bytes | float) -> Any:
        """Run a Lua script and return its answer: one round trip, once the server knows the script."""
        registered = self._scripts.get(script) or self._scripts.setdefault(script, self._redis.register_script(script))
        async with self._patience():
            return await registered(keys=list(keys), args=list(values))

    async def together(self, *commands: tuple[str | float, ...]) -> list[Any]:
        """Run `commands` as one transaction in one round trip and return their answers."""
        async with self._patience(), self._redis.pipeline(transaction=True) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = await pipeline.execute()
            return answers

    async def command(self, *command: str | float) -> Any:
        """Run one command and return its answer."""
        async with self._patience():
            return await self._redis.execute_command(*command)

    async def scan(self, pattern: str) -> AsyncIterator[list[str]]:
        """Yield the keys that match `pattern`, some at a time. All keys of the server are looked through."""
        cursor = "0"
        while True:
            found = await self.command("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT)
            cursor = str(int(found[0]))
            yield [key.decode(errors="surrogateescape") for key in found[1]]
            if cursor == "0":
                return

    async def close(self) -> None:
        """Close all connections."""
        await self._redis.aclose()

    @asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        """Raise `ShortTermError` for what fails or takes too long. Not chained: the server quotes values in its errors."""
        try:
            async with asyncio.timeout(self._total):
                yield
        except (self._error, OSError) as error:  # TimeoutError is an OSError
            if _is_unverified(error):
                raise UnverifiedRedisError from None
            raise ShortTermError(f"{ShortTermError()} ({type(error).__name__})") from None


def _is_unverified(error: BaseException | None) -> bool:
    """Return whether an error comes from a certificate: redis-py tells of it by one of its own."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
