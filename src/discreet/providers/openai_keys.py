"""Several keys for one server: each request begins with the next, and goes on to another where one is refused or used up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import openai
from pydantic import SecretStr

from discreet.providers.openai_connections import ClientPerLoop

_REFUSED, _USED_UP = 401, 429


class KeyRing:
    """The keys, and whose turn it is. Clients in several threads may share one."""

    def __init__(self, keys: Sequence[SecretStr]) -> None:
        self._keys = [key.get_secret_value() for key in keys]
        self._turn = itertools.count()

    def headers(self) -> Iterator[tuple[str, bool]]:
        """Yield `Authorization` with each key once, beginning with the next, and whether it is the last to try."""
        first = next(self._turn)
        for step in range(len(self._keys)):
            yield f"Bearer {self._keys[(first + step) % len(self._keys)]}", step + 1 == len(self._keys)

    def clients(self) -> dict[str, Any]:
        """Return the arguments of langchain-openai's models that make their clients use the ring."""
        return {"http_client": _Client(self), "http_async_client": _AsyncClient(self)}


class _Client(openai.DefaultHttpxClient):
    def __init__(self, ring: KeyRing) -> None:
        super().__init__()
        self._ring = ring

    def send(self, request: Any, **options: Any) -> Any:
        """Send it with one key after the other, until the server takes one."""
        for request.headers["Authorization"], last in self._ring.headers():
            response = super().send(request, **options)
            if last or response.status_code not in (_REFUSED, _USED_UP):
                return response
            response.close()
        raise AssertionError  # there is a last one


class _AsyncClient(ClientPerLoop):
    def __init__(self, ring: KeyRing) -> None:
        super().__init__()
        self._ring = ring

    async def send(self, request: Any, **options: Any) -> Any:
        """Do what the blocking one does."""
        for request.headers["Authorization"], last in self._ring.headers():
            response = await super().send(request, **options)
            if last or response.status_code not in (_REFUSED, _USED_UP):
                return response
            await response.aclose()
        raise AssertionError  # as above
