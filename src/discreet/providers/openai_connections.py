"""Connections to servers that speak OpenAI's protocol: each event loop has its own, which end with it.

A connection can be awaited on the loop that opened it only, and langchain-openai keeps one client for all loops of a process.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import urllib.request
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import openai

# 3 is the first release on httpx2
_HTTPX: Final = import_module("httpx2" if int(openai.__version__.partition(".")[0]) >= 3 else "httpx")

_PROBED: Final = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 120_000))
"""Seconds, seconds, probes and milliseconds until a peer that is gone is noticed, as langchain-openai has them. Nothing else
ends a wait for it: models may take long."""

MOST_STANDING_STILL: Final = 16
"""Loops that don't run and are not closed. They may go on, and open new connections if theirs were dropped."""

_open: dict[asyncio.AbstractEventLoop, tuple[openai.DefaultAsyncHttpxClient, AsyncGenerator[None]]] = {}
"""By loop: its client, and what closes it with the loop."""


class ClientPerLoop(openai.DefaultAsyncHttpxClient):
    """An `http_async_client` for langchain-openai's models that sends on connections of the loop it is awaited on.

    All of them share these connections, so one that is made for a request costs none. It has none to close itself.
    """

    def __init__(self) -> None:
        super().__init__(verify=_tls())

    async def send(self, request: Any, **options: Any) -> Any:
        """Send `request` as `httpx.AsyncClient` does."""
        return await (await _client_here()).send(request, **options)


async def _client_here() -> openai.DefaultAsyncHttpxClient:
    loop = asyncio.get_running_loop()
    if loop not in _open:
        for other in list(_open):
            if other.is_closed() or (len(_open) > MOST_STANDING_STILL and not other.is_running()):
                _open.pop(other, None)
        client = _client()
        closing = _closed_with(loop, client)
        await anext(closing)
        _open[loop] = client, closing
    return _open[loop][0]


async def _closed_with(loop: asyncio.AbstractEventLoop, client: openai.DefaultAsyncHttpxClient) -> AsyncGenerator[None]:
    """Close `client` when `loop.shutdown_asyncgens` is called, as `asyncio.run` does: loops have no other hook."""
    try:
        yield
    finally:
        if loop in _open and _open[loop][0] is client:
            del _open[loop]
        await client.aclose()


def is_proxied() -> bool:
    """Tell whether the environment names proxies. A transport of one's own, which options of sockets need, would pass them by."""
    return bool(urllib.request.getproxies())


def _client() -> openai.DefaultAsyncHttpxClient:
    if is_proxied():
        return openai.DefaultAsyncHttpxClient(verify=_tls())
    transport = _HTTPX.AsyncHTTPTransport(
        verify=_tls(), limits=openai.DEFAULT_CONNECTION_LIMITS, socket_options=_socket_options()
    )
    return openai.DefaultAsyncHttpxClient(transport=transport)


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Return what reads the certificates of the system once, which takes 20 ms."""
    context: ssl.SSLContext = _HTTPX.create_ssl_context()
    return context


@lru_cache(maxsize=1)
def _socket_options() -> list[tuple[int, int, int]]:
    """Return the options that notice a peer that is gone, those of them that this system takes."""
    taken = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    with socket.socket() as tried:
        for name, value in _PROBED:
            with suppress(AttributeError, OSError):
                option = socket.IPPROTO_TCP, getattr(socket, name), value
                tried.setsockopt(*option)
                taken.append(option)
    return taken
