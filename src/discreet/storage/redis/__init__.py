"""Reach Redis or Valkey, one server or a cluster, and fail soon, with our own errors."""

from discreet.storage.redis.client import RedisClient

__all__ = ["RedisClient"]
