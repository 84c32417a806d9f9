"""A server in a process of its own, for as long as the command that started it."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from discreet.errors import ConfigurationError


def check_free(host: str, port: int, *, command: str) -> None:
    """Check that nothing listens where a server of `command` is to.

    Raises:
        ConfigurationError: Something does, or the host is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server will: one that just ended is free
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ConfigurationError(
                f"Port {port} on {host} can't be had ({reason}). Choose another one: {command} --port …"
            ) from error


def first_free(host: str, begin: int, *, command: str) -> int:
    """Return the first port from `begin` on, of a hundred, on which nothing listens.

    Raises:
        ConfigurationError: Something listens on all of them.
    """
    for port in range(begin, begin + 99):
        with suppress(ConfigurationError):
            check_free(host, port, command=command)
            return port
    check_free(host, begin + 99, command=command)
    return begin + 99


def run_server(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    stop_seconds: float,
    meanwhile: Callable[[], object] = lambda: None,
) -> int | None:
    """Run a server until it ends; return its exit code, or None if it was Ctrl-C or SIGTERM that ended it.

    Then it has `stop_seconds` to end what is under way, then it is killed. `meanwhile` is called while it starts; what that raises
    stops it.
    """
    try:
        with _running(command, environment, stop_seconds) as server:
            meanwhile()
            return server.wait()
    except KeyboardInterrupt:
        return None


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], stop_seconds: float
) -> Iterator[subprocess.Popen[bytes]]:
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with subprocess.Popen(command, env=environment, umask=0o077) as server:
            try:
                yield server
            finally:
                server.terminate()
                try:
                    server.wait(stop_seconds)
                except subprocess.TimeoutExpired:
                    server.kill()
    finally:
        signal.signal(signal.SIGTERM, previous)
