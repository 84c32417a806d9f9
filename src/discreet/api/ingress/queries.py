"""Redact the query string of a request, which servers write into their access log."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl, unquote, urlencode

from starlette.requests import Request

from discreet.api.ingress.bodies import NAMES_OF_ITEMS, SENSITIVE_NAME
from discreet.api.ingress.routes import OPEN_PATHS, is_own
from discreet.errors import InvalidRequestError, MalformedRequestError, NotFoundError
from discreet.ports import TextRedactor

RAW_QUERY = "discreet.query_string"
"""Where the scope of a request to a route of ours has the query as it was sent."""

MAX_QUERY_BYTES = 8_000
"""As much as common proxies take of a request line."""

MAX_PATH_CHARS = 2_000
"""Several times what the longest path of the server has. Its parts are redacted one by one before anybody is known."""


def as_sent(request: Request) -> Request:
    """Return a request to a route of ours with the query that was sent: what stands in its scope is logged."""
    query = request.scope.get(RAW_QUERY)
    return request if query is None else Request({**request.scope, "query_string": query}, request.receive)


def checked_line(path: str, query: bytes, redactor: TextRedactor, items: Collection[str] = ()) -> bytes:
    """Return the query string of a request as it may be logged. The parameters `items` name items of the store.

    Raises:
        MalformedRequestError: Path or query are too long, or the query is no UTF-8.
        NotFoundError: The path holds a sensitive value, and would be logged.
    """
    if len(path) > MAX_PATH_CHARS:
        raise MalformedRequestError(f"The path has more than {MAX_PATH_CHARS:,} characters.")
    clean = redacted_query(query, redactor, items)
    told = is_own(path) or path in OPEN_PATHS  # known words; and who waits for `/ok` need not wait for the recognisers
    if not told and any(redactor.redact(part) != part for part in unquote(path).split("/") if part):
        raise NotFoundError
    return clean


def redacted_query(query: bytes, redactor: TextRedactor, items: Collection[str] = ()) -> bytes:
    """Return a query string that may be logged; the same bytes if there is nothing to hide.

    Of the parameters `items` the name tells nothing: `key` is where an item stands, no secret.

    Raises:
        MalformedRequestError: It is too long or no UTF-8.
    """
    if len(query) > MAX_QUERY_BYTES:
        raise MalformedRequestError(f"The query string has more than {MAX_QUERY_BYTES:,} bytes.")
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise MalformedRequestError("The query string is not percent-encoded UTF-8.") from None
    clean = [
        (redactor.redact(name), redactor.redact(value) if name in items else _value(name, value, redactor))
        for name, value in pairs
    ]
    return query if clean == pairs else urlencode(clean).encode("ascii")


def refuse_sensitive_names(query: bytes, clean: bytes) -> None:
    """Refuse a query that names an item of the store by what has to be redacted.

    Raises:
        InvalidRequestError: It does.
    """
    changed = set(parse_qsl(query.decode("ascii"))) ^ set(parse_qsl(clean.decode("ascii")))
    if names := sorted({name for name, _ in changed if name in NAMES_OF_ITEMS}):
        raise InvalidRequestError([(name, SENSITIVE_NAME) for name in names])


def _value(name: str, value: str, redactor: TextRedactor) -> str:
    """Return a value redacted, also where its name tells what it is."""
    alone = redactor.redact(value)
    if alone != value:
        return alone
    named = redactor.redact(f"{name}: {value}")
    return value if named.endswith(value) else named.removeprefix(f"{name}: ")
