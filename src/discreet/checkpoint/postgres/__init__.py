"""The durable tier in PostgreSQL: LangGraph's own savers, with one row a message, and what else they lack."""

from discreet.checkpoint.postgres.async_tier import AsyncPostgresTier
from discreet.checkpoint.postgres.connecting import CONNECT_TIMEOUT_SECONDS, CONNECTION, check_pool
from discreet.checkpoint.postgres.sync_tier import PostgresTier

__all__ = ["CONNECTION", "CONNECT_TIMEOUT_SECONDS", "AsyncPostgresTier", "PostgresTier", "check_pool"]
