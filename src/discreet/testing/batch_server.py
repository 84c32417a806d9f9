"""A server on 127.0.0.1 that takes batches as OpenAI, Anthropic and Google do, so that their real clients run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from discreet.testing.batch_protocols import anthropic, google, openai
from discreet.testing.batch_protocols.messages import Reply, Request
from discreet.testing.batch_shelf import BatchScript, BatchShelf
from discreet.testing.loopback import LoopbackHandler, loopback

_PROTOCOLS: Final[dict[str, tuple[ModuleType, tuple[str, ...]]]] = {
    "openai": (openai, ("v1",)),
    "anthropic": (anthropic, ()),
    "google": (google, ()),
}
"""By the first part of the path: the protocol, and what its clients expect in `base_url` besides."""


@dataclass
class BatchServer:
    """The running server: where it is, what lies there, and what goes wrong."""

    shelf: BatchShelf
    base_urls: dict[str, str] = field(default_factory=dict)
    """For each provider's `base_url`: openai, anthropic, google."""
    requests: list[tuple[str, str, int]] = field(default_factory=list)
    """Method, path and status of each answer, oldest first; 0 where the connection was dropped."""

    @property
    def script(self) -> BatchScript:
        """What goes wrong; it may be changed."""
        return self.shelf.script


@contextmanager
def batch_server(answer: Callable[[str], str], *, script: BatchScript | None = None) -> Iterator[BatchServer]:
    """Run a server whose model answers a prompt's data with `answer`.

    Example:
        >>> with batch_server(str.upper) as server:
        ...     sorted(server.base_urls)
        ['anthropic', 'google', 'openai']
    """
    state = BatchServer(BatchShelf(answer, script))
    with loopback(_Handler, state=state) as origin:
        for name, (_, rest) in _PROTOCOLS.items():
            state.base_urls[name] = "/".join((origin, name, *rest))
        yield state


class _Handler(LoopbackHandler):
    state: BatchServer

    def answer(self, body: bytes) -> None:
        """Answer as the protocol does, unless the script has something else."""
        shelf, url = self.state.shelf, urlsplit(self.path)
        name, *path = url.path.strip("/").split("/")
        protocol, rest = _PROTOCOLS[name]
        key = self._key()
        request = Request(
            self.command,
            tuple(path[len(rest) :]),
            dict(parse_qsl(url.query)),
            {each.lower(): value for each, value in self.headers.items()},
            body,
            shelf.script.projects.get(key, ""),
            f"http://{self.headers['Host']}/{name}",
        )
        if key in shelf.script.refused:
            status = 400 if protocol is google else 401
            reply = Reply(protocol.failure(401), status=status)
        elif shelf.next("overloaded"):
            wait = {"Retry-After": str(shelf.script.retry_after)}
            reply = Reply(protocol.failure(429), status=429, headers=wait)
        elif shelf.next("broken"):
            reply = Reply(protocol.failure(500), status=500)
        else:
            reply = protocol.handle(shelf, request)
        is_lost = reply.is_batch and shelf.next("lost")
        self.state.requests.append((self.command, url.path, 0 if is_lost else reply.status))
        if not is_lost:
            self._send(reply)

    def _key(self) -> str:
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or bearer

    def _send(self, reply: Reply) -> None:
        if reply.pieces is None:
            self.send_json(reply.body, status=reply.status, headers=reply.headers)
        elif self.state.shelf.next("dropped"):
            told = {"Content-Length": "1000000000"}
            self.send_pieces(islice(filter(None, reply.pieces), 1), "application/octet-stream", headers=told)
        else:
            self.send_pieces(reply.pieces, "application/octet-stream", headers=reply.headers)
