"""Keep back the headers that the server stores or logs whatever it is told not to pass on."""

from __future__ import annotations

import re

from discreet.api.receiving import Headers
from discreet.ports import TextRedactor

DROPPED = frozenset({b"baggage", b"tracestate"})
"""They carry metadata, tags and names of a trace, which the server puts into the rows of runs."""

TRACE = b"langsmith-trace"
TRACE_FORM = re.compile(rb"\d{8}T\d{12}Z[0-9a-f-]{36}(?:\.\d{8}T\d{12}Z[0-9a-f-]{36})*")
"""Times and ids, as LangSmith's SDK writes them."""

REQUEST_ID = b"x-request-id"
REQUEST_ID_FORM = re.compile(rb"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
"""What gateways send: an id, in some alphabet."""
RANDOM_ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
"""Nothing but chance (RFC 9562, section 5.4). Each request has one, of `discreet.api.request_log` if of nobody else."""


def clean_headers(headers: Headers, redactor: TextRedactor) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request without those that would leave a client's words in rows and logs.

    The server makes a request id of its own where there is none.
    """
    return [(name, value) for name, value in headers if _may_stay(name.lower(), value, redactor)]


def first_headers(headers: Headers) -> dict[str, str]:
    """Return headers by names in small letters. Of one that comes twice, the first counts, as for all that reads them."""
    first: dict[str, str] = {}
    for name, value in headers:
        first.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return first


def _may_stay(name: bytes, value: bytes, redactor: TextRedactor) -> bool:
    if name == TRACE:
        return TRACE_FORM.fullmatch(value) is not None
    if name == REQUEST_ID and RANDOM_ID.fullmatch(value) is None:
        said = value.decode("latin-1")
        return REQUEST_ID_FORM.fullmatch(value) is not None and redactor.redact(said) == said
    return name not in DROPPED
