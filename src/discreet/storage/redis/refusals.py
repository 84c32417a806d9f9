"""What an error of redis-py means here. Its own message is never told on: servers quote keys and values in it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

from discreet.errors import RedisClusterError, RedisRefusedError, ShortTermError, UnverifiedRedisError

_NO_CLUSTER = (
    "DISCREET_REDIS_URL names a cluster, and what is there is a server of its own: write redis:// or rediss://."
)
_ONE_OF_A_CLUSTER = "DISCREET_REDIS_URL names one server of a cluster: write redis+cluster://host:port,host:port (rediss+cluster:// with TLS)."


def short_term_error(error: Exception) -> ShortTermError:
    """Return our error for one of redis-py or of a socket, to be raised `from None`."""
    for cause in _causes(error):
        found = _of_connecting(cause)
        if found is not None:
            return found
    return _of_calling(error)


def _of_connecting(cause: BaseException) -> ShortTermError | None:
    """Return what it means that this is among the causes of an error: redis-py wraps what ends a connection."""
    from redis import exceptions  # optional

    match cause:
        case ssl.SSLCertVerificationError():
            return UnverifiedRedisError()
        case exceptions.AuthenticationError() | exceptions.NoPermissionError():
            return RedisRefusedError()
        case exceptions.ResponseError() if "cluster support disabled" in str(cause):
            return RedisClusterError(_NO_CLUSTER)
    return None


def _of_calling(error: Exception) -> ShortTermError:
    from redis import exceptions

    told: BaseException = error
    match error:
        case exceptions.MovedError():
            return RedisClusterError(_ONE_OF_A_CLUSTER)
        case exceptions.ClusterDownError() | exceptions.SlotNotCoveredError():
            return RedisClusterError()
        case exceptions.RedisClusterException() if "slots are not covered" in str(error):
            return RedisClusterError()
        case exceptions.ResponseError() if _is_refused_in_script(error):
            return RedisRefusedError()
        case exceptions.RedisClusterException():  # the cause: no server could be reached
            told = error.__cause__ or error
    return ShortTermError(f"{ShortTermError()} ({type(told).__name__})")


def _is_refused_in_script(error: Exception) -> bool:
    """Return whether the user of a script may not do what it does: Redis 7 and Valkey tell it as ACL failure, Redis 6 as NOPERM."""
    said = str(error)
    return said.startswith("ACL failure in script") or "NOPERM" in said


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what it comes from: redis-py wraps what the network and a server say in errors of its own."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
