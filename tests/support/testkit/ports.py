"""Ports for servers that tests start."""

import os
import socket
from itertools import count
from pathlib import Path
from zlib import crc32

HOST = "127.0.0.1"
FIRST = 20_000
LAST = 60_000
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
EPHEMERAL_STARTS = 49_152
"""Where systems without that file begin, by RFC 6335."""
ENOUGH = 4_000

_turns = count()


def free_port() -> int:
    """Return a port that nothing listens on, and that nobody is given before the server under test has it.

    A port that the kernel chooses for `bind` with port 0 may be the local end of an outgoing connection a second later,
    while the server still starts. So these are below those that the kernel chooses from. None is handed out twice: not in
    this process, and not by two workers of one run. Runs at the same time begin at different ones.

    Raises:
        RuntimeError: All are taken.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % workers
    ports = _below_the_kernels_own()[worker::workers]
    start = crc32(f"{os.environ.get('PYTEST_XDIST_TESTRUNUID')} {os.getpid()}".encode())
    for turn in _turns:
        if turn >= len(ports):
            break
        port = ports[(start + turn) % len(ports)]
        if _is_free(port):
            return port
    raise RuntimeError(f"No port from {ports[0]} to {ports[-1]} is free")


def _below_the_kernels_own() -> range:
    lowest = int(EPHEMERAL.read_text().split()[0]) if EPHEMERAL.exists() else EPHEMERAL_STARTS
    # Where the kernel takes nearly all ports as its own, nothing is better than anything else.
    return range(FIRST, lowest) if lowest >= FIRST + ENOUGH else range(FIRST, LAST)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
