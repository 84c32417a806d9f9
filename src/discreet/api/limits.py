"""Read the body of a request, and no more of it than is taken."""

from __future__ import annotations

import json
from typing import NoReturn

from fastapi import Request
from starlette.types import Message, Receive

from discreet.errors import BodyTooLargeError, MalformedRequestError, MediaTypeError


async def with_json(request: Request, limit: int) -> Request:
    """Return `request` with its body read and parsed, so that whoever asks for it next waits for nothing.

    Raises:
        MediaTypeError: It isn't JSON by its Content-Type.
        BodyTooLargeError: It has more than `limit` bytes, which are not read.
        MalformedRequestError: It isn't one JSON value in UTF-8.
    """
    _check_type(request, "application/json")
    limited, written = await _read(request, limit)
    try:
        # UTF-8 as RFC 8259, section 8.1, demands: what takes bytes would guess UTF-16 and 32 too.
        limited._json = json.loads(written.decode(), parse_constant=_no_number)  # noqa: SLF001 - where json() keeps it
    except (ValueError, RecursionError):  # not chained: it holds the body
        raise MalformedRequestError from None
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
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise MediaTypeError("The body is compressed. Send it as it is.")


async def _read(request: Request, limit: int) -> tuple[Request, bytes]:
    """Return `request` with its body in memory, and the body."""
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise BodyTooLargeError(limit)
    limited = Request(request.scope, _at_most(limit, request.receive))
    return limited, await limited.body()


def _at_most(limit: int, receive: Receive) -> Receive:
    """Return `receive` as it raises `BodyTooLargeError` once more than `limit` bytes have come."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise BodyTooLargeError(limit)
        return message

    return counting


def _no_number(_name: str) -> NoReturn:
    """Refuse NaN and Infinity, which JSON doesn't know."""
    raise ValueError("not a JSON number")
