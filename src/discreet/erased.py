"""Tell what a process holds in memory that somebody's data was erased, by whichever process."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from weakref import WeakMethod

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Erased:
    """Whose data went, as the database names it."""

    user_key: UUID
    threads: Collection[UUID]
    """Keyed digests of the ids of the threads that went with it, whole or in part."""
    turns: Collection[str]
    """What the turn vault knew their turns by."""
    key_of: Callable[[str], UUID]
    """Makes such a digest."""

    def has_thread(self, thread_id: str) -> bool:
        """Return whether something of a thread went."""
        return self.key_of(thread_id) in self.threads


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
