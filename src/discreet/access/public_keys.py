"""Public keys of who issues tokens, fetched where the settings say and kept for a while."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from jwt import PyJWK, PyJWKClient, PyJWTError

from discreet.access.loopback import is_loopback_name
from discreet.errors import ConfigurationError, UnauthorisedError

logger = logging.getLogger(__name__)

LIFESPAN_SECONDS = 300
"""How long a key that its owner withdrew is still taken."""

PAUSE_SECONDS = 30
"""Between two fetches for keys nobody has heard of, so that invented names don't make a flood of requests."""

PAUSE_AFTER_FAILURE_SECONDS = 5
TIMEOUT_SECONDS = 5

UNAVAILABLE = "The keys that tokens are signed with can't be fetched at the moment. Try again in a few seconds."


class PublicKeys:
    """Find keys by their ids. Requests wait for one fetch at most, in a thread of its own."""

    def __init__(self, url: str) -> None:
        """Take the address, without fetching anything yet.

        Raises:
            ConfigurationError: It is no https address. On this machine http will do.
        """
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback_name(parts.hostname)):
            raise ConfigurationError(
                "DISCREET_JWKS_URL must begin with https://: whoever changes the keys lets anybody in."
            )
        self._client = PyJWKClient(
            url, lifespan=LIFESPAN_SECONDS, timeout=TIMEOUT_SECONDS, cooldown_duration=PAUSE_SECONDS
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="discreet-jwks")
        self._failed_at: float | None = None

    async def find(self, key_id: str) -> PyJWK:
        """Return the key with this id.

        Raises:
            UnauthorisedError: There is none, or the keys can't be fetched.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._find, key_id)

    def _find(self, key_id: str) -> PyJWK:
        if self._failed_at is not None and time.monotonic() - self._failed_at < PAUSE_AFTER_FAILURE_SECONDS:
            raise UnauthorisedError(UNAVAILABLE)
        try:
            keys = self._client.get_signing_keys()
        except (PyJWTError, OSError, ValueError) as error:  # ValueError: the answer is no JSON
            self._failed_at = time.monotonic()
            logger.warning("public_keys_unavailable cause=%s", type(error).__name__)
            raise UnauthorisedError(UNAVAILABLE) from None
        self._failed_at = None
        found = self._client.match_kid(keys, key_id)
        return found or self._fetched_again(key_id)

    def _fetched_again(self, key_id: str) -> PyJWK:
        try:
            return self._client.get_signing_key(key_id)
        except (PyJWTError, OSError, ValueError) as error:
            logger.info("public_key_not_found cause=%s", type(error).__name__)
            raise UnauthorisedError("The token is signed with a key that its issuer doesn't publish.") from None
