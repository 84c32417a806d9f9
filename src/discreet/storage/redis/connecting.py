"""From a URL to a client of redis-py, for one server or for a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import ConfigurationError, MissingDependencyError

CONNECT_SECONDS = 1.0
CONNECTIONS = 32
"""At most, a process and server. A call holds one for less than a millisecond; more callers wait for a free one."""
CLUSTER_RETRIES = 3
"""How often a call looks anew who serves its slot. Until a replica has taken over from a server that is gone, that is in vain."""
CLUSTER_VERSION = (8, 1)
"""Of redis-py."""

_PLAIN = {"redis+cluster": "redis", "rediss+cluster": "rediss"}
_PROTOCOL = 2
"""What every version of Redis and Valkey speaks."""


def is_cluster(url: str) -> bool:
    """Return whether a URL names a cluster."""
    return urlsplit(url).scheme in _PLAIN


def is_tls(url: str) -> bool:
    """Return whether what is said to the servers of a URL can't be read on the way, by TLS."""
    return _PLAIN.get(urlsplit(url).scheme, urlsplit(url).scheme) == "rediss"


def hosts(url: str) -> list[str | None]:
    """Return the hosts that a URL names; None where it names no host, but a socket of this machine."""
    return [urlsplit(each).hostname for each in _urls(url)]


def redis_of(url: str, *, answer: float) -> Any:
    """Return redis-py's client for the servers at `url`, which connects when it is first used.

    `answer` is how many seconds a server may be silent.

    Raises:
        MissingDependencyError: redis-py is not installed, or too old for a cluster.
        ConfigurationError: The URL can't be read, or turns off that a TLS server is verified.
    """
    try:
        from redis import exceptions  # optional
    except ImportError as error:
        raise MissingDependencyError(
            "DISCREET_REDIS_URL is set, and redis-py is not installed: pip install 'redis>=6,<9'."
        ) from error
    try:
        return _cluster(url, answer) if is_cluster(url) else _server(url, answer)
    # Not chained: the message may quote the URL, which may hold a password. TypeError: an option that there is not.
    except (ValueError, TypeError, exceptions.RedisClusterException):
        raise ConfigurationError(
            "DISCREET_REDIS_URL can't be read. It looks like redis://127.0.0.1:6379/0, rediss://user:password@host:6380/0, or, for a "
            "cluster, redis+cluster://user:password@host:6379,other:6379 (rediss+cluster:// with TLS), which has no database but 0."
        ) from None


def _server(url: str, answer: float) -> Any:
    from redis import asyncio, exceptions
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    pool: Any = asyncio.BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=CONNECT_SECONDS,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=answer,
        # Once, for a connection that the server had closed; a server that hangs is not asked again.
        retry=Retry(NoBackoff(), 1, supported_errors=(exceptions.ConnectionError,)),
        protocol=_PROTOCOL,
    )
    _check_verified(pool.connection_kwargs)
    return asyncio.Redis.from_pool(pool)


def _cluster(url: str, answer: float) -> Any:
    from redis import __version__
    from redis.asyncio import cluster
    from redis.asyncio.connection import SSLConnection, parse_url
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    if tuple(map(int, __version__.split(".")[:2])) < CLUSTER_VERSION:
        # 8.0 leaves no connection for the calls after a failover; before, calls to the other servers fail meanwhile too.
        raise MissingDependencyError("A cluster needs redis-py 8.1 or later: pip install -U 'redis>=8.1'.")
    named: list[dict[str, Any]] = [{**parse_url(each)} for each in _urls(url)]
    options = {name: value for name, value in named[0].items() if name not in {"host", "port", "connection_class"}}
    _check_verified(options)
    made: Any = cluster.RedisCluster(
        startup_nodes=[cluster.ClusterNode(each["host"], each.get("port", 6379)) for each in named if "host" in each],
        max_connections=2
        * CONNECTIONS,  # the client's own calls wait for a place; those that ask who serves what don't
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=answer,
        retry=Retry(NoBackoff(), CLUSTER_RETRIES),
        # What a server says of one slot is taken over for its whole shard. By default every fifth such answer closes all
        # connections, under the calls that use them.
        reinitialize_steps=0,
        protocol=_PROTOCOL,
        ssl=named[0].get("connection_class") is SSLConnection,
        **options,
    )
    made.commands_parser = _FirstArguments()
    return made


class _FirstArguments:
    """Tells redis-py which part of a command is its key: of all that we send, the first.

    Its own asks a server for the table of all commands, each time that it has looked who serves what, and always the first server: while
    that is gone, calls to the others would fail too.
    """

    async def initialize(self, node: Any = None) -> None:
        """Ask nobody."""

    async def get_keys(self, *command: Any) -> Sequence[Any]:
        """Return the keys of `command`."""
        return command[1:2]


def _urls(url: str) -> list[str]:
    """Return a URL for each server that `url` names, as redis-py reads them."""
    where = urlsplit(url)
    if where.scheme not in _PLAIN:
        return [url]
    account, at, servers = where.netloc.rpartition("@")
    each = (where._replace(scheme=_PLAIN[where.scheme], netloc=f"{account}{at}{one}") for one in servers.split(","))
    return [one.geturl() for one in each]


def _check_verified(options: Mapping[str, Any]) -> None:
    if options.get("ssl_cert_reqs", "required") != "required" or not options.get("ssl_check_hostname", True):
        raise ConfigurationError(
            "DISCREET_REDIS_URL turns off that the server is verified. Name its authority by ssl_ca_certs=/path instead."
        )
