"""Load what the first turn needs beside the opening of a storage: models, the redactor's tables, statements."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import asynccontextmanager, suppress

from discreet.access.user_keys import UserKeys
from discreet.errors import DiscreetError
from discreet.ports import EmbeddingProvider, TextRedactor
from discreet.providers.annotator import locale_of, may_be_emergency
from discreet.providers.tokens import count_tokens
from discreet.providers.topics import topic_of
from discreet.storage.maintenance import stop

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 30.0
"""How long a turn waits. The local model loads in 0.35 s, the redactor's tables in a second; a busy machine takes several."""

STEP_SECONDS = 5.0
"""How long the end of a process, or a fork, waits for the step that is under way: native code must not be broken off in it."""

SAMPLE = "Ann's password is not this. Write to ann@example.com, call +1 202 555 0123, or come to 12 Main Street on 3 May 2024!"
"""Has what the recognisers look closer at, so that their patterns are compiled and their tables read."""

Step = Callable[[], object]


class WarmUp:
    """Takes `steps` in a thread, one after the other. A failure is logged: the first turn meets it again, and says what is wrong."""

    def __init__(self, steps: Mapping[str, Step], *, after: float | None) -> None:
        """Begin `after` seconds of `warmed`, or with the first `ready` if that is earlier; None: only then."""
        self._steps = steps
        self._after = after
        self._wanted = asyncio.Event()
        self._loaded: Future[None] = Future()
        self._loaded.set_running_or_notify_cancel()
        self._is_over = False

    async def ready(self) -> None:
        """Wait until all is loaded, `LONGEST_SECONDS` at most."""
        if self._loaded.done():
            return
        self._wanted.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_SECONDS):
                await asyncio.wrap_future(self._loaded)

    @asynccontextmanager
    async def running(self, statements: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
        """Warm inside the block; `statements` are executed meanwhile. At its end nothing more is begun."""
        task = asyncio.create_task(self._run(statements))
        try:
            yield
        finally:
            self._is_over = True
            await stop([task])
            self._end()

    async def _run(self, statements: Callable[[], Awaitable[object]]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._after):
                await self._wanted.wait()
        threading.Thread(target=self._load, name="discreet-warming", daemon=True).start()
        try:
            await statements()
        except DiscreetError as error:
            logger.info("storage.not_warmed step=statements cause=%s", error.code)

    def _load(self) -> None:
        started = time.perf_counter()
        for name, step in self._steps.items():
            with _stepping:
                if self._is_over or _ending.is_set():
                    return
                try:
                    step()
                except Exception as error:  # noqa: BLE001  # the edge of a thread that nobody waits for: it must not end unseen
                    logger.info("storage.not_warmed step=%s cause=%s", name, type(error).__name__)
        logger.info("storage.warmed seconds=%.2f", time.perf_counter() - started)
        self._end()

    def _end(self) -> None:
        with suppress(InvalidStateError):  # it is loaded, or the storage was closed, before
            self._loaded.set_result(None)


def what_turns_need(embeddings: EmbeddingProvider, redactor: TextRedactor, keys: UserKeys) -> dict[str, Step]:
    """Return the steps of a turn's parts, by name. Nothing is sent anywhere: a provider that is asked over a network has no `load`."""
    steps: dict[str, Step] = {
        "ids": lambda: keys.ids.found_in(SAMPLE),
        "redactor": lambda: redactor.redact(SAMPLE),
        "tokens": lambda: count_tokens(SAMPLE),
        "annotations": lambda: (locale_of(SAMPLE), topic_of(SAMPLE), may_be_emergency(SAMPLE)),
    }
    load: Step | None = getattr(embeddings, "load", None)
    return {**steps, "embedding": load} if load is not None else steps


_stepping = threading.Lock()
"""Held by whoever takes a step. A fork waits for it: a lock, or a module that is half imported, would stay so in the child."""

_ending = threading.Event()


def _end() -> None:
    _ending.set()
    if _stepping.acquire(timeout=STEP_SECONDS):
        _stepping.release()


atexit.register(_end)

_held = threading.local()


def _before_fork() -> None:
    _held.it = _stepping.acquire(timeout=STEP_SECONDS)


def _after_fork() -> None:
    if getattr(_held, "it", False):
        _stepping.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
