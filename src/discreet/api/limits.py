"""Read the body of a request to a route of ours, and no more of it than is taken."""

from __future__ import annotations

from fastapi import Request

from discreet.api.receiving import capped, loads, refuse_compressed
from discreet.errors import MediaTypeError


async def with_json(request: Request, limit: int) -> Request:
    """Return `request` with its body read and parsed, so that whoever asks for it next waits for nothing.

    Raises:
        MediaTypeError: It isn't JSON by its Content-Type.
        BodyTooLargeError: It has more than `limit` bytes, which are not read.
        MalformedRequestError: It isn't one JSON value in UTF-8.
    """
    _check_type(request, "application/json")
    limited, written = await _read(request, limit)
    limited._json = loads(written)  # noqa: SLF001  # where json() keeps it
    return limited


async def with_form(request: Request, limit: int) -> Request:
    """Return `request` with its body read, for a form of a page of ours.

    Raises:
        MediaTypeError: It isn't a form by its Content-Type.
        BodyTooLargeError: It has more than `limit` bytes, which are not read.
    """
    _check_type(request, "application/x-www-form-urlencoded", "multipart/form-data")
    limited, _ = await _read(request, limit)
    return limited


def _check_type(request: Request, *taken: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in taken:
        raise MediaTypeError
    refuse_compressed(request.scope["headers"])


async def _read(request: Request, limit: int) -> tuple[Request, bytes]:
    """Return `request` with its body in memory, and the body."""
    limited = Request(request.scope, capped(request.receive, request.scope["headers"], limit))
    return limited, await limited.body()
