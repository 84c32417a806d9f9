"""Who calls the server, and every byte that it answered."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
import jwt
from kit.planter import Planter
from websockets.asyncio.client import connect

SWITCHED = 101
"""Status of a WebSocket that was opened (RFC 9110, section 15.2.2)."""
FIRST_FAILURE = 300

VARIABLE = re.compile(r"/(?:[0-9a-f]{8}-[0-9a-f-]{27}|[^/]*%[^/]*)")

Kind = Literal["live", "later", "foreign"]
"""The answer to who sends the values right now; to the same person later; or to somebody else."""


@dataclass(frozen=True)
class Reply:
    """What the server answered."""

    kind: Kind
    what: str
    status: int
    data: bytes
    headers: bytes = b""

    @property
    def gives(self) -> bool:
        """Whether it lets somebody do or see something: streams and commands tell what went wrong with status 200."""
        refused = (
            not self.data or b"error" in self.data[:40] or (self.status == SWITCHED and b"event_id" not in self.data)
        )
        return self.status < FIRST_FAILURE and not refused


@dataclass
class Replies:
    """All answers so far."""

    said: list[Reply] = field(default_factory=list)

    def holding(self, plants: Planter) -> dict[str, set[str]]:
        """Return what stands in answers in which nothing may stand, by the name of the value."""
        found: dict[str, set[str]] = {}
        for reply in self.said:
            if reply.kind != "live":
                for name in plants.within(reply.data + reply.headers):
                    found.setdefault(name, set()).add(f"{reply.kind} reply to {reply.what}")
        return found

    def given_away(self) -> set[str]:
        """Return what somebody else was let do with things that are not theirs."""
        return {reply.what for reply in self.said if reply.kind == "foreign" and reply.gives}


@dataclass(frozen=True)
class Event:
    """An event of a stream."""

    name: str
    data: Any
    number: str | None


@dataclass
class Person:
    """A caller with a token."""

    http: httpx.AsyncClient
    replies: Replies
    token: str
    url: str

    async def call(self, kind: Kind, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Send a request, note the answer, and return what it says: JSON where it is, else text."""
        response = await self.send(kind, method, path, body, **options)
        try:
            return response.json()
        except ValueError:
            return response.text

    async def send(self, kind: Kind, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """Send a request, note the answer, and return it."""
        if body is not None:
            options["json"] = body
        response = await self.http.request(method, path, **options)
        self._note(kind, method, path, response, response.content)
        return response

    async def stream(self, kind: Kind, method: str, path: str, body: Any = None, **options: Any) -> list[Event]:
        """Send a request, note all of what streams back, and return its events."""
        if body is not None:
            options["json"] = body
        data = b""
        async with self.http.stream(method, path, **options) as response:
            async for part in response.aiter_bytes():
                data += part
        self._note(kind, method, path, response, data)
        return list(events(data))

    async def listen(
        self,
        kind: Kind,
        method: str,
        path: str,
        body: Any = None,
        *,
        seconds: float,
        until: bytes | None = None,
        **options: Any,
    ) -> list[Event]:
        """Read for some seconds a stream that has no end, or until it has said so much; note it, and return its events."""
        if body is not None:
            options["json"] = body
        data = b""
        status = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self.http.stream(method, path, **options) as response:
                status = response.status_code
                async for part in response.aiter_bytes():
                    data += part
                    if until is not None and until in data:
                        break
        self.replies.said.append(Reply(kind, f"{method} {route_of(path)}", status or 499, data))
        return list(events(data, finished=False))

    @asynccontextmanager
    async def socket(self, kind: Kind, path: str) -> AsyncIterator[Socket]:
        """Open a WebSocket and note all that comes through it."""
        headers = {"Authorization": f"Bearer {self.token}"}
        url = self.url.replace("http://", "ws://") + path
        async with connect(url, additional_headers=headers, max_size=None) as connection:
            socket = Socket(connection)
            try:
                yield socket
            finally:
                self.replies.said.append(Reply(kind, f"WebSocket {route_of(path)}", 101, b"\n".join(socket.came)))

    def _note(self, kind: Kind, method: str, path: str, response: httpx.Response, data: bytes) -> None:
        headers = b"\n".join(value for _, value in response.headers.raw)
        self.replies.said.append(Reply(kind, f"{method} {route_of(path)}", response.status_code, data, headers))


@dataclass
class Socket:
    """A WebSocket with commands and events of the event protocol."""

    connection: Any
    came: list[bytes] = field(default_factory=list)
    events: list[Mapping[str, Any]] = field(default_factory=list)

    async def command(self, number: int, method: str, **params: Any) -> Mapping[str, Any]:
        """Send a command and return its answer; events that come before it are kept."""
        await self.connection.send(json.dumps({"id": number, "method": method, "params": params}))
        return await self.until(lambda message: message.get("id") == number and "type" in message)

    async def until(self, wanted: Any) -> Mapping[str, Any]:
        """Read until there is a message that is `wanted`, and return it."""
        while True:
            text = await self.connection.recv()
            self.came.append(text.encode() if isinstance(text, str) else text)
            message: Mapping[str, Any] = json.loads(text)
            self.events.append(message)
            if wanted(message):
                return message


@asynccontextmanager
async def person(url: str, replies: Replies, *, subject: str, secret: str) -> AsyncIterator[Person]:
    """Yield a caller whose token names `subject`."""
    token = make_token(subject, secret)
    headers = {"Authorization": f"Bearer {token}"}
    # Each request on a connection of its own: uvicorn closes those that were idle for 5 s, httpx keeps them as long, and
    # a busy server resets one on which a request has just arrived (httpx.ReadError).
    apart = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, verify=False, limits=apart) as http:
        yield Person(http, replies, token, url)


def route_of(path: str) -> str:
    """Return a path without its query and with `…` for ids and for what is escaped."""
    return VARIABLE.sub("/…", path.partition("?")[0])


def make_token(subject: str, secret: str) -> str:
    """Return a bearer token that names `subject`."""
    return jwt.encode({"sub": subject, "exp": int(time.time()) + 3600}, secret, algorithm="HS256")


def events(data: bytes, *, finished: bool = True) -> Iterable[Event]:
    """Yield the events of a stream of server-sent events; of one that was left, the last may be half an event."""
    blocks = data.replace(b"\r\n", b"\n").split(b"\n\n")
    for block in blocks if finished else blocks[:-1]:
        fields: dict[str, str] = {}
        for line in block.decode().split("\n"):
            name, separator, value = line.partition(":")
            if separator and name:
                fields[name] = fields.get(name, "") + value.removeprefix(" ")
        if "data" in fields:
            yield Event(fields.get("event", "message"), json.loads(fields["data"] or "null"), fields.get("id"))
