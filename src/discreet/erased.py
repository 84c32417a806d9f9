"""Tell what a process holds in memory that somebody's data was erased, by whichever process."""

from __future__ import annotations

import hashlib
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from weakref import WeakMethod

from discreet.shown_keys import shown_key

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Erased:
    """Whose data went, by digests: who holds something of theirs knows it again, and nobody learns of people that they don't know."""

    person: UUID
    """What stands for the user's key, see `shown_key`."""
    threads: Collection[UUID]
    """What stands for the keys of the threads that went, whole or in part."""
    turns: Collection[str]
    """SHA-256 of what the turn vault knew their turns by, in hex."""
    key_of: Callable[[str], UUID]
    """Makes the key of a thread."""

    @classmethod
    def of(
        cls, user_key: UUID, *, threads: Collection[UUID], turns: Collection[str], key_of: Callable[[str], UUID]
    ) -> Erased:
        """Return it for keys that are known here."""
        return cls(
            person=shown_key(user_key),
            threads=frozenset(map(shown_key, threads)),
            turns=frozenset(map(_digest, turns)),
            key_of=key_of,
        )

    def is_of(self, user_key: UUID) -> bool:
        """Return whether it was this user's."""
        return shown_key(user_key) == self.person

    def has_thread(self, thread_id: str) -> bool:
        """Return whether something of a thread went."""
        return shown_key(self.key_of(thread_id)) in self.threads

    def has_turn(self, turn: str) -> bool:
        """Return whether a turn of the vault went."""
        return _digest(turn) in self.turns


def _digest(turn: str) -> str:
    return hashlib.sha256(turn.encode("utf-8", "surrogatepass")).hexdigest()


Listener = Callable[[Erased], Awaitable[None] | None]

_listeners: list[WeakMethod[Any]] = []
_lock = threading.Lock()


def on_erasure(listener: Listener) -> None:
    """Call the method `listener` for each erasure while its object lives, on the event loop of the storage that learns of it."""
    with _lock:
        _listeners[:] = [*(each for each in _listeners if each() is not None), WeakMethod(listener)]


async def tell(erased: Erased) -> None:
    """Call all that listen. One that fails costs the others nothing; a log event names its class."""
    with _lock:
        listening = [listener for each in _listeners if (listener := each()) is not None]
    for listener in listening:
        try:
            answer = listener(erased)
            if inspect.isawaitable(answer):
                await answer
        except Exception as error:  # noqa: BLE001  # each holds data of its own, and all have to be asked
            logger.warning("erasure.not_heard cause=%s", type(error).__name__)
