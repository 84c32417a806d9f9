"""Read the body of a request, up to a limit, and hand on another one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from starlette.types import Message, Receive

from discreet.errors import BodyTooLargeError, MalformedRequestError, MediaTypeError

Headers = Iterable[tuple[bytes, bytes]]


class Taken:
    """A `receive` that knows whether there is more of the body to come."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._more = True

    async def __call__(self) -> Message:
        """Return the next message."""
        message = await self._receive()
        self._more = message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def discard(self, limit: int) -> None:
        """Read what is left of the body, up to some `limit` bytes, and drop it."""
        while self._more and limit > 0:
            limit -= len((await self()).get("body", b""))


def header(headers: Headers, name: bytes) -> bytes | None:
    """Return the first header of that name."""
    return next((value for key, value in headers if key.lower() == name), None)


def capped(receive: Receive, headers: Headers, limit: int) -> Receive:
    """Return a `receive` that refuses more than `limit` bytes.

    Raises:
        BodyTooLargeError: As many are announced.
    """
    said = header(headers, b"content-length") or b"0"
    if not said.isdigit() or int(said[:20]) > limit:  # 20 digits are more than any limit, and cheap to read
        raise BodyTooLargeError(limit)
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            raise BodyTooLargeError(limit)
        return message

    return limited


def refuse_compressed(headers: Headers) -> None:
    """Refuse a body that is not sent as it is.

    Raises:
        MediaTypeError: It is compressed.
    """
    if (header(headers, b"content-encoding") or b"identity").strip().lower() != b"identity":
        raise MediaTypeError("The body is compressed. Send it as it is.")


async def read_body(receive: Receive, headers: Headers) -> bytes:
    """Return the body.

    Raises:
        MediaTypeError: It is compressed.
        MalformedRequestError: The client went away.
    """
    refuse_compressed(headers)
    pieces: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise MalformedRequestError
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(pieces)


def loads(text: bytes | str) -> Any:
    """Return the value of a JSON text, bytes of which are UTF-8 as RFC 8259, section 8.1, demands.

    Raises:
        MalformedRequestError: It is none, or has numbers that JSON has not.
    """
    try:
        # What takes bytes would guess UTF-16 and 32 too.
        return json.loads(text if isinstance(text, str) else text.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):  # not chained: it holds the body
        raise MalformedRequestError from None


def instead(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives `body`, which it then forgets, and then what comes after a body."""
    left = [body]

    async def replaced() -> Message:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return replaced


def with_length(headers: Headers, length: int) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request whose body has `length` bytes now."""
    kept = [pair for pair in headers if pair[0].lower() not in {b"content-length", b"transfer-encoding"}]
    return [*kept, (b"content-length", str(length).encode())]


def _no_constant(name: str) -> Any:
    raise ValueError(name)
