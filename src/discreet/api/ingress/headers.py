"""Drop what a client's headers would put into rows and log lines of the server."""

from __future__ import annotations

import re

from discreet.api.ingress.receiving import Headers

DROPPED = frozenset({b"langsmith-trace", b"baggage", b"traceparent", b"tracestate"})
"""The server keeps these with a run whatever `configurable_headers` excludes; `baggage` carries free text."""

REQUEST_ID = b"x-request-id"
"""Kept with a run, and in every log line of the request. The server makes one where there is none."""

PLAIN_ID = re.compile(rb"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
"""A UUID. A shorter alphabet would let names and numbers through."""


def clean_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return the headers that go on."""
    return [(name, value) for name, value in headers if not _is_dropped(name.lower(), value)]


def _is_dropped(name: bytes, value: bytes) -> bool:
    return name in DROPPED or (name == REQUEST_ID and not PLAIN_ID.fullmatch(value))
