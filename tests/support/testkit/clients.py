"""Clients of servers that tests start on this machine."""

import ssl

import httpx
from langgraph_sdk.client import LangGraphClient

LIMITS = httpx.Limits(keepalive_expiry=2)
"""uvicorn hangs up after 5 s, as httpx would by default: a request that is sent in that moment would fail."""

NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients that talk HTTP only: to read all certificates takes longer than many requests."""


def local_client(url: str, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    """Return a client that is made at once, and that no proxy of the environment comes between."""
    return httpx.AsyncClient(
        base_url=url, headers=headers, timeout=60, limits=LIMITS, verify=NO_CERTIFICATES, trust_env=False
    )


def local_sdk(url: str, headers: dict[str, str]) -> LangGraphClient:
    """Return LangGraph's client over such a client, as `get_client` would over one of its own."""
    return LangGraphClient(local_client(url, headers))
