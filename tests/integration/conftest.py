"""A relay in front of a database, to take it down at any moment."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest


class Relay:
    """Hands bytes on between clients on loopback and the server of a database, until it is taken down."""

    def __init__(self, dsn: str) -> None:
        where = urlsplit(dsn)
        options = {name: values[0] for name, values in parse_qs(where.query).items()}
        self._server: tuple[str, int] | str = (where.hostname or "", where.port or 0)
        if where.hostname is None:
            self._server = f"{options['host']}/.s.PGSQL.{options['port']}"
        self._sockets: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self._port = 0
        self._lock = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self.up()
        options |= {"host": "127.0.0.1", "port": str(self._port), "sslmode": "disable", "gssencmode": "disable"}
        user, _, _ = where.netloc.rpartition("@")
        self.dsn = where._replace(netloc=f"{user}@" if user else "", query=urlencode(options)).geturl()
        """Of the same database, by way of the relay."""

    def up(self) -> None:
        """Listen, on the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self._port), reuse_port=False)
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def hang(self) -> None:
        """Take connections and what is said, and hand nothing on."""
        self._flows.clear()

    def down(self) -> None:
        """Refuse connections and cut those there are. What was held back is lost.

        PgBouncer 1.18 can end when a request to cancel and the end of its sender reach it at once.
        """
        with self._lock:
            if self._listener is not None:
                self._sockets.append(self._listener)
                self._listener = None
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
            self._sockets.clear()
        self._flows.set()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.socket(socket.AF_UNIX if isinstance(self._server, str) else socket.AF_INET)
                with self._lock:
                    if self._listener is not listener:  # taken down meanwhile
                        client.close()
                        server.close()
                        return
                    self._sockets += [client, server]
                    server.connect(self._server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._hand_on, args=[source, target], daemon=True).start()

    def _hand_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                self._flows.wait()
                target.sendall(piece)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay(empty_database: str) -> Iterator[Relay]:
    """Return a relay to a new database without tables, up."""
    made = Relay(empty_database)
    yield made
    Relay.down(made)


@pytest.fixture
def migrated_relay(database: str) -> Iterator[Relay]:
    """Return a relay to a new migrated database, up."""
    made = Relay(database)
    yield made
    Relay.down(made)
