"""Call a provider's client: again after a passing failure, with the key that fits, and with errors that tell no text."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from importlib.util import find_spec
from typing import Generic, TypeVar

from tenacity import RetryCallState, retry_if_exception
from tenacity.asyncio import AsyncRetrying

from discreet.errors import ConfigurationError, MissingDependencyError, ProviderError
from discreet.metrics import model_retries
from discreet.providers.retry import passing, pause_before

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")
Client = TypeVar("Client")

ATTEMPTS = 8
"""For a provider that asks to come back at once, again and again."""

MAX_OWNERS = 1_000
"""Batches whose key is remembered. Of others it is found again by asking."""

_UNAUTHORISED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 401, 403, 404, 429, 500
_NOT_TAKEN = (503, 529)
"""Unavailable, and Anthropic's "overloaded": the request was turned away. Other failures of a server leave that open."""


class RefusedError(ProviderError):
    """The provider answered that it did not do it; after any other ProviderError it may have."""

    def __init__(self, message: str, *, status: int, is_passing: bool) -> None:
        super().__init__(message, is_passing=is_passing)
        self.is_absent = status == _NOT_FOUND
        self.is_limit = status == _TOO_MANY


def require(module: str, distribution: str) -> None:
    """Check that a client is installed, without the second that its import takes.

    Raises:
        MissingDependencyError: It is not.
    """
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # the package around it
        found = None
    if found is None:
        raise MissingDependencyError(f"These batches need the package {module}: pip install {distribution}")


class Calls(Generic[Client]):
    """The clients of a provider, one a key, and how they are called.

    What is made with a key is seen with keys of the same project only. Work that is new takes the keys in turn, and passes
    over one that is refused or used up. A batch that is there is asked for with one key after the other, until one knows it;
    that one is remembered. It is gone when no key knows it.
    """

    def __init__(
        self,
        clients: Sequence[Client],
        *,
        provider: str,
        variable: str,
        lost: tuple[type[Exception], ...],
        seconds: float,
        status_of: Callable[[Exception], int | None],
    ) -> None:
        """Take the clients, without retries of their own.

        `lost` are their errors of connections, `seconds` is for how long a call is repeated, waits counted, and `status_of`
        reads the HTTP status of an error.
        """
        self.clients = clients
        self._provider = provider
        self._variable = variable
        self._lost = (*lost, OSError, TimeoutError)
        self._seconds = seconds
        self._status_of = status_of
        self._turn = 0
        self._owners: OrderedDict[str, Client] = OrderedDict()

    async def make(self, once: Callable[[Client], Awaitable[T]], *, safe: bool = False) -> tuple[Client, T]:
        """Return what `once` makes with the next key that is taken, and its client.

        Unless it is `safe`, it is repeated only where the provider said that it did nothing: an answer that was lost may be
        that of a batch.
        """
        first = self._turn % len(self.clients)
        self._turn += 1
        turns = [*self.clients[first:], *self.clients[:first]]
        for client in list(turns) if len(turns) > 1 else ():
            try:
                return client, await self.repeated(partial(once, client), seconds=0, safe=safe)
            except ConfigurationError:
                logger.warning("batch_key_refused provider=%s", self._provider)
                turns.remove(client)
                if not turns:
                    raise
            except ProviderError as error:
                if not (error.is_passing and (safe or isinstance(error, RefusedError))):
                    raise
        return turns[0], await self.repeated(partial(once, turns[0]), safe=safe)

    async def every(self, once: Callable[[Client], Awaitable[T | None]]) -> tuple[Client, T] | None:
        """Return what the first client finds, and which it is; None if none does."""
        return await self._first(list(self.clients), once)

    async def of(self, batch_id: str, once: Callable[[Client], Awaitable[T]]) -> tuple[Client, T] | None:
        """Return what `once` returns with the client that knows the batch, and that client; None if none does."""
        owner = self._owners.get(batch_id)
        known = [] if owner is None else [owner]
        found = await self._first([*known, *(each for each in self.clients if each is not owner)], once)
        if found is not None:
            self.remember(batch_id, found[0])
        return found

    def remember(self, batch_id: str, client: Client) -> None:
        """Note which client knows a batch."""
        self._owners[batch_id] = client
        self._owners.move_to_end(batch_id)
        if len(self._owners) > MAX_OWNERS:
            self._owners.popitem(last=False)

    async def repeated(self, once: Callable[[], Awaitable[T]], *, seconds: float | None = None, safe: bool = True) -> T:
        """Return what `once` returns, asked again while what it raises passes and the time lasts.

        `safe` says whether it may be repeated after a failure that leaves open whether it was done.
        """
        most = self._seconds if seconds is None else seconds

        def stops(state: RetryCallState) -> bool:
            gone = max(state.idle_for, state.seconds_since_start or 0.0)
            return state.attempt_number >= ATTEMPTS or gone + state.upcoming_sleep > most

        def repeats(error: BaseException) -> bool:
            told = self.translated(error) if isinstance(error, Exception) else None
            return isinstance(told, ProviderError) and told.is_passing and (safe or isinstance(told, RefusedError))

        retrying = AsyncRetrying(
            retry=retry_if_exception(repeats),
            wait=pause_before,
            stop=stops,
            sleep=asyncio.sleep,
            before_sleep=_note,
            reraise=True,
        )

        async def attempt() -> T:
            return await once()  # tenacity awaits what it can see to be asynchronous only

        try:
            return await retrying(attempt)
        except Exception as error:  # every client library has errors of its own, and no common base
            told = self.translated(error)
            if told is error:
                raise
            raise told from None  # its text may repeat what was sent

    async def stream(
        self, opened: Callable[[], AbstractAsyncContextManager[R]], pieces: Callable[[R], AsyncIterator[bytes]]
    ) -> AsyncIterator[bytes]:
        """Yield the body of a response in pieces; nothing if there is none any more."""
        async with AsyncExitStack() as stack:
            try:
                response = await self.repeated(lambda: stack.enter_async_context(opened()))
                async for piece in pieces(response):
                    yield piece
            except Exception as error:  # as above
                told = self.translated(error)
                if isinstance(told, RefusedError) and told.is_absent:
                    return
                if told is error:
                    raise
                raise told from None

    def translated(self, error: Exception) -> Exception:
        """Return an error of ours for one of the client's; an error in this program comes back as it is."""
        if isinstance(error, ProviderError | ConfigurationError):
            return error
        status = self._status_of(error)
        if status is None:
            if not isinstance(error, self._lost):
                return error
            return ProviderError(f"The connection to {self._provider} failed: {type(error).__name__}.")
        if status in (_UNAUTHORISED, _FORBIDDEN):
            return ConfigurationError(f"{self._provider} refused the key. Check {self._variable}.")
        message = f"{self._provider} answered with status {status}."
        if status >= _SERVER_ERROR and status not in _NOT_TAKEN:
            return ProviderError(message)
        return RefusedError(message, status=status, is_passing=passing(error))

    async def _first(
        self, clients: Sequence[Client], once: Callable[[Client], Awaitable[T | None]]
    ) -> tuple[Client, T] | None:
        refused: ConfigurationError | None = None
        for client in clients:
            try:
                found = await self.repeated(partial(once, client))
            except ConfigurationError as error:
                refused = error
            except RefusedError as error:
                if not error.is_absent:
                    raise
            else:
                if found is not None:
                    return client, found
        if refused is not None:  # whose batch it may be
            raise refused
        return None


def _note(state: RetryCallState) -> None:
    cause = type(state.outcome.exception()).__name__ if state.outcome else ""
    model_retries.labels(cause).inc()
    logger.warning("batch_retry cause=%s attempt=%d wait=%.1f", cause, state.attempt_number, state.upcoming_sleep)
