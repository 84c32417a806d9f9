"""The few ways in which we talk to Redis, to one server or to a cluster: they fail soon, and with our own error."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from discreet.storage.redis import connecting
from discreet.storage.redis.refusals import short_term_error

ANSWER_SECONDS = 1.0
"""A healthy server answers in less than a millisecond; nobody waits longer for a sick one."""
TOTAL_SECONDS = 2.5
"""For all of one call: a free connection, connecting anew, the answer."""
REST_SECONDS = 2.0
"""For how long a server that did not answer in time is not asked again: a turn asks a dozen times, and would wait each time."""
SCAN_COUNT = 1_000
"""Keys looked at in one round trip when all keys are looked through."""


class RedisClient:
    """Connects when it is first used. All keys of one command, or of one script, have to be in one slot of a cluster."""

    def __init__(self, url: str, *, answer: float = ANSWER_SECONDS, total: float = TOTAL_SECONDS) -> None:
        """Talk to the servers at `url`: redis://, rediss:// (TLS, verified), unix://, redis+cluster:// or rediss+cluster://.

        `answer` is how many seconds a server may be silent, `total` how many all of one call may take.

        Raises:
            MissingDependencyError: redis-py is not installed.
            ConfigurationError: The URL can't be read, or turns off that a TLS server is verified.
        """
        self._redis = connecting.redis_of(url, answer=answer)
        from redis import exceptions  # optional

        self._no_script = exceptions.NoScriptError
        self._is_cluster = connecting.is_cluster(url)
        # A TimeoutError is an OSError. AttributeError and TypeError are what redis-py (8.1) raises for a connection that was
        # closed under the call that writes to it: https://github.com/redis/redis-py/issues/3546 and 4287.
        self._errors = (exceptions.RedisError, exceptions.RedisClusterException, OSError, AttributeError, TypeError)
        self._timeouts = (exceptions.TimeoutError, TimeoutError)
        self._rests_until = 0.0
        self._total = total
        self._places = asyncio.Semaphore(connecting.CONNECTIONS)

    async def run(self, script: str, keys: Sequence[str], *values: str | bytes | float) -> Any:
        """Run a Lua script and return its answer: one round trip, once the server knows the script."""
        digest = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
        async with self._patience():
            try:
                return await self._redis.execute_command("EVALSHA", digest, len(keys), *keys, *values)
            except self._no_script:  # each server of a cluster learns it by itself, and so does one that was promoted
                return await self._redis.execute_command("EVAL", script, len(keys), *keys, *values)

    async def together(self, *commands: tuple[str | float, ...]) -> list[Any]:
        """Run `commands` in one round trip, to each server of a cluster that they are for, and return their answers."""
        async with self._patience(), self._redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = await pipeline.execute()
            return answers

    async def command(self, *command: str | float) -> Any:
        """Run one command that has a key, and return its answer."""
        async with self._patience():
            return await self._redis.execute_command(*command)

    async def ping(self) -> None:
        """See that the server answers; of a cluster all that take writes."""
        for server in await self._servers():
            async with self._patience():
                await server.execute_command("PING")

    async def memory(self) -> list[Mapping[str, Any]]:
        """Return what each server that takes writes says of its memory (INFO)."""
        told = []
        for server in await self._servers():
            async with self._patience():
                told.append(await server.execute_command("INFO", "memory"))
        return told

    async def scan(self, pattern: str) -> AsyncIterator[list[str]]:
        """Yield the keys that match `pattern`, some at a time. All keys of all servers are looked through."""
        for server in await self._servers():
            cursor = "0"
            while True:
                async with self._patience():
                    found = await server.execute_command("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_COUNT)
                cursor = str(int(found[0]))
                yield [key.decode(errors="surrogateescape") for key in found[1]]
                if cursor == "0":
                    break

    async def close(self) -> None:
        """Close all connections."""
        await self._redis.aclose()
        if self._is_cluster:  # aclose leaves them open in a client that has just lost a server
            for kind in ("nodes_cache", "startup_nodes"):
                await self._redis.nodes_manager.aclose(kind)

    async def _servers(self) -> list[Any]:
        """Return the servers that each have some of the keys."""
        if not self._is_cluster:
            return [self._redis]
        async with self._patience():
            return list(self._redis.get_primaries())

    @asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        """Raise `ShortTermError` for what fails or takes too long. Not chained: the server quotes values in its errors."""
        if time.monotonic() < self._rests_until:
            raise short_term_error(TimeoutError())
        try:
            async with asyncio.timeout(self._total), self._places:
                if self._is_cluster:  # it asks who serves what; else first calls go to any server, which sends them on
                    await self._redis.initialize()
                yield
        except self._errors as error:
            if isinstance(error, self._timeouts) and not self._is_cluster:  # of a cluster the other servers answer
                self._rests_until = time.monotonic() + REST_SECONDS
            raise short_term_error(error) from None
