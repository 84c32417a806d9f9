"""A server on 127.0.0.1 for as long as a block lasts, and what the protocols that it speaks share."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackHandler(BaseHTTPRequestHandler):
    """Answers one request and closes the connection, so that no client leaves a socket open."""

    stopping: threading.Event
    """Set when the server is stopped: ends every wait."""

    def answer(self, body: bytes) -> None:
        """Answer the request: `command`, `path` and `headers` tell which it is."""
        raise NotImplementedError

    def do_GET(self) -> None:
        """Read the body, if there is one."""
        self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    do_POST = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet; requests are recorded."""

    def send_json(self, value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Answer with one JSON value."""
        self.send_pieces([json.dumps(value).encode()], "application/json", status=status, headers=headers)

    def send_pieces(
        self,
        pieces: Iterable[bytes],
        content_type: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        pause: float = 0.0,
    ) -> None:
        """Answer with `pieces`, `pause` seconds apart. Of a list the length is told before; others are sent as they come."""
        length = {"Content-Length": str(sum(map(len, pieces)))} if isinstance(pieces, list) else {}
        try:
            self.send_response(status)
            for name, value in {"Content-Type": content_type, **length, **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            for number, piece in enumerate(pieces):
                if number and pause:
                    self.stopping.wait(pause)
                self.wfile.write(piece)
        except ConnectionError:
            self.close_connection = True  # the client gave up waiting, which is what a delay is for


@contextmanager
def loopback(handler: type[LoopbackHandler], **state: Any) -> Iterator[str]:
    """Serve with a handler that has `state` as attributes; yield the address, without a slash at its end."""
    stopping = threading.Event()
    served = type("Handler", (handler,), {"stopping": stopping, **state})
    with ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            stopping.set()
            server.shutdown()
            thread.join()
