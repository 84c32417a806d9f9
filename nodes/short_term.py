"""Use the short-term store and go on without it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

from discreet.metrics import short_term_failures

logger = logging.getLogger(__name__)

T = TypeVar("T")
D = TypeVar("D")

TIMEOUT_SECONDS = 1.0
"""A healthy store answers in milliseconds; a turn doesn't wait longer for a sick one."""


async def tolerant(doing: str, call: Awaitable[T], *, otherwise: D) -> T | D:
    """Return what `call` returns; `otherwise` if it fails or takes more than a second. A log event and a metric tell."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await call
    except Exception as error:  # noqa: BLE001  # fails open, whatever a foreign store raises
        cause = type(error).__name__
        short_term_failures.labels(doing, cause).inc()
        logger.warning("short_term_failed doing=%s cause=%s", doing, cause)
        return otherwise
