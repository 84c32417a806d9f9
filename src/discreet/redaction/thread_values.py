"""What the placeholders of a thread stand for: held in the turn vault, and found there by the thread alone."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Mapping
from typing import Final

from discreet.metrics import vault_failures
from discreet.ports import TurnVault
from discreet.redaction.placeholder_key import default_key

logger = logging.getLogger(__name__)

TOOL_SECONDS: Final = 600.0
"""That a tool may work before it asks a person: what it was called with is held from the call on, a pause begins with the
question."""


def vault_key(thread_id: str, message_id: str | None = None) -> str:
    """Return what the vault knows a thread by, or with a message the turn that it began.

    It is a digest, so that it may stand in a key of Redis, keyed, so that it tells nothing to who knows the thread.
    """
    named = json.dumps([thread_id, message_id]).encode()
    return hmac.digest(default_key(), b"discreet thread values\0" + named, hashlib.sha256).hex()


class ThreadValues:
    """The values of threads in a vault. One that fails costs values, and nothing else: placeholders stay."""

    def __init__(self, vault: TurnVault) -> None:
        self._vault = vault

    async def avalues(self, thread_id: str) -> dict[str, str]:
        """Return what the vault has of a thread, by tagged placeholder."""
        try:
            return await self._vault.avalues(vault_key(thread_id))
        except Exception as error:  # noqa: BLE001  # placeholders stay, whatever a foreign vault raises
            failed("values", error)
            return {}

    async def ahold(self, thread_id: str, values: Mapping[str, str], seconds: float | None) -> bool:
        """Add values to those of a thread; all of them live `seconds`, by default the vault's own time. Return whether it worked."""
        try:
            await self._vault.ahold(vault_key(thread_id), values, seconds=seconds)
        except Exception as error:  # noqa: BLE001  # as above
            failed("hold", error)
            return False
        return True

    async def adrop(self, thread_id: str) -> None:
        """Forget the values of a thread."""
        try:
            await self._vault.adrop(vault_key(thread_id))
        except Exception as error:  # noqa: BLE001  # its TTL ends it
            failed("drop", error)

    def values(self, thread_id: str) -> dict[str, str]:
        """Do what `avalues` does, blocking."""
        try:
            return self._vault.values(vault_key(thread_id))
        except Exception as error:  # noqa: BLE001  # as above
            failed("values", error)
            return {}

    def hold(self, thread_id: str, values: Mapping[str, str], seconds: float | None) -> bool:
        """Do what `ahold` does, blocking."""
        try:
            self._vault.hold(vault_key(thread_id), values, seconds=seconds)
        except Exception as error:  # noqa: BLE001  # as above
            failed("hold", error)
            return False
        return True

    def drop(self, thread_id: str) -> None:
        """Do what `adrop` does, blocking."""
        try:
            self._vault.drop(vault_key(thread_id))
        except Exception as error:  # noqa: BLE001  # as above
            failed("drop", error)


def failed(doing: str, error: Exception) -> None:
    """Say that the vault failed; the turn goes on with placeholders."""
    cause = type(error).__name__
    vault_failures.labels(cause).inc()
    logger.warning("turn_vault_failed doing=%s cause=%s", doing, cause)
