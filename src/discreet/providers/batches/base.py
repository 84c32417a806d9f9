"""What the providers with keys and connections share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any, ClassVar, Final, Generic

from discreet.errors import ConfigurationError
from discreet.ports import BatchRequest
from discreet.providers.batches.calls import Calls, Client, require
from discreet.providers.batches.lines import line_of
from discreet.providers.retry import http_status

RETRY_SECONDS: Final = 60.0
"""Nobody waits for a batch, and a job that gives up is taken up again by the next poll."""

CLOCKS_APART: Final = timedelta(minutes=10)
"""By as much the provider's clock may be behind ours."""

_KEYLESS: Final = "unused"
"""Servers on one's own machine take no key, and the clients refuse to start without one."""


class ClientBatchProvider(Generic[Client]):
    """Opens a client for each key when the first is needed; how the keys take turns is in `Calls`.

    Keys of one project and of several may be mixed. A batch whose key is taken out of the settings is lost sight of, unless
    another of the same project stays. Use one in one event loop, and close it there.
    """

    price_factor = 0.5
    company: ClassVar[str]
    variable: ClassVar[str]
    """Of the environment: what to check when a key is refused."""
    package: ClassVar[tuple[str, str]]
    """The client's module, and the package that brings it."""

    def __init__(
        self,
        *,
        api_keys: Sequence[str] = (),
        base_url: str | None = None,
        retry_seconds: float = RETRY_SECONDS,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Remember where to ask and how long; `options` are further fields of every request, such as `temperature`.

        Raises:
            ConfigurationError: There is neither a key nor a server of one's own.
            MissingDependencyError: The client is not installed.
        """
        require(*self.package)
        if not api_keys and base_url is None:
            raise ConfigurationError(f"Batches at {self.company} need {self.variable}.")
        self._keys = list(api_keys) or [_KEYLESS]
        self._base_url = base_url
        self._seconds = retry_seconds
        self._options = dict(options or {})

    def size(self, request: BatchRequest, model: str) -> int:
        """Return the bytes of the request as one line of JSON."""
        return len(line_of(self._line(request, model)))

    async def aclose(self) -> None:
        """Close the connections."""
        if "_calls" in vars(self):
            for client in self._calls.clients:
                await self._close(client)
            del self._calls

    @cached_property
    def _calls(self) -> Calls[Client]:
        return Calls(
            [self._open(key) for key in self._keys],
            provider=self.company,
            variable=self.variable,
            lost=self._lost(),
            seconds=self._seconds,
            status_of=self._status_of,
        )

    @abstractmethod
    def _line(self, request: BatchRequest, model: str) -> dict[str, Any]:
        """Return a request as it is sent."""

    @abstractmethod
    def _open(self, key: str) -> Client:
        """Return a client that makes no retries of its own."""

    @abstractmethod
    async def _close(self, client: Client) -> None:
        """Close its connections."""

    @abstractmethod
    def _lost(self) -> tuple[type[Exception], ...]:
        """Return what it raises when a connection fails."""

    @staticmethod
    def _status_of(error: Exception) -> int | None:
        """Return the HTTP status that is meant."""
        return http_status(error)
