"""Put references in the place of the secrets of a text that is to become a memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable

from langgraph.errors import GraphBubbleUp

from discreet.errors import ConfigurationError, DiscreetError, SecretRefusedError, StorageUnavailableError
from discreet.ports import Locating, SecretStore, TextRedactor
from discreet.redaction import untagged
from discreet.redaction.placeholders import SECRET, reference, referenced, written
from discreet.state.records import MemoryRecord
from discreet.state.secret_ids import SECRET_ID_CHARS, is_secret_id
from discreet.state.text import storable

logger = logging.getLogger(__name__)

FORGET_SECONDS = 5.0
"""How long a tool waits for secrets to be forgotten that no memory refers to: its own work is done, or has failed."""


class Kept:
    """A text that is to become a memory. Once `give` was called, the store has its secrets, and it refers to them."""

    def __init__(self, text: str, redactor: TextRedactor, store: SecretStore, user_id: str) -> None:
        self.text = untagged(storable(text))
        """As a record takes it: whoever stores it redacts all else in it."""
        self.redacted = redactor.redact(self.text)
        """The same without any value."""
        self.secrets: list[str] = []
        """What `give` hands to the store, in the order of the text."""
        self._redactor, self._store, self._user_id = redactor, store, user_id
        self._spans: list[tuple[int, int]] = []
        self._given: dict[str, str] = {}
        self._stood_in: set[str] = set()
        if written(SECRET) in self.redacted and isinstance(redactor, Locating):
            self._spans = [(each.start, each.end) for each in redactor.findings(self.text) if each.type == SECRET]
            self.secrets = [self.text[start:end] for start, end in self._spans]

    def __repr__(self) -> str:
        return f"Kept({len(self._spans)} secrets)"

    async def give(self) -> None:
        """Give the secrets to the store; from then on `text` and `redacted` refer to them.

        Raises:
            SecretRefusedError: It does not take one, or the value of one is not known any more.
            StorageUnavailableError: It failed.
        """
        if written(SECRET) not in self.redacted:
            return
        if written(SECRET) in self.text:  # a placeholder, whose value the turn's vault has lost
            raise SecretRefusedError
        parts: list[str] = []
        done = 0
        for (start, end), value in zip(self._spans, self.secrets, strict=True):
            if value not in self._given:
                self._given[value] = await self._keep(value)
            parts += self.text[done:start], reference(self._given[value])
            done = end
        text = "".join([*parts, self.text[done:]])
        redacted = self._redactor.redact(text)
        if written(SECRET) in redacted or not referenced([redacted]) >= {*self._given.values()}:
            raise SecretRefusedError
        self.text, self.redacted = text, redacted

    def stand_in(self, records: Iterable[MemoryRecord]) -> None:
        """Note that `records` are stored: secrets that they refer to stay."""
        self._stood_in |= referenced(record.text for record in records)

    async def settle(self) -> None:
        """Let the store forget what was given to it and no memory refers to."""
        await forget_secrets(self._store, self._user_id, {*self._given.values()} - self._stood_in)

    async def _keep(self, value: str) -> str:
        try:
            secret_id = await self._store.keep(self._user_id, value)
        except (DiscreetError, GraphBubbleUp):
            raise
        except Exception as error:  # noqa: BLE001  # a foreign store raises what it likes, and its message may tell the value
            cause = type(error).__name__
            raise StorageUnavailableError(f"The store for secrets failed: {cause}. Nothing was saved.") from None
        if secret_id is None:
            raise SecretRefusedError
        if not is_secret_id(secret_id):
            raise ConfigurationError(
                f"SecretStore.keep returned an id that is not {SECRET_ID_CHARS} of A-Z and 2-7. Take one of new_secret_id()."
            )
        return secret_id


async def forget_secrets(store: SecretStore, user_id: str, secret_ids: Collection[str]) -> int:
    """Let `store` forget secrets; return how many it did. A failure is logged with the ids: it undoes nothing."""
    forgotten = 0
    try:
        async with asyncio.timeout(FORGET_SECONDS):
            for secret_id in sorted(secret_ids):
                forgotten += await store.forget(user_id, secret_id)
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001  # whatever a foreign store raises
        left = ",".join(sorted(secret_ids))
        logger.warning("secrets_not_forgotten secret_ids=%s cause=%s", left, type(error).__name__)
    return forgotten
