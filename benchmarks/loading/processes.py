"""What processes cost: CPU seconds and resident bytes of a process with all that it started."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

BENCHMARKS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Usage:
    """Of some processes together."""

    cpu_seconds: float = 0.0
    resident_bytes: int = 0
    """Pages that several processes share count once (Linux's PSS)."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.cpu_seconds + other.cpu_seconds, self.resident_bytes + other.resident_bytes)


def usage_of(pid: int) -> Usage:
    """Return what a process and its children use, with the CPU of children that have ended; nothing of one that is gone."""
    total = Usage()
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                ended = times.children_user + times.children_system
                total += Usage(times.user + times.system + ended, _resident(process))
    return total


def _resident(process: psutil.Process) -> int:
    full = process.memory_full_info()
    size: int = getattr(full, "pss", full.rss)
    return size


def postgres_pid(dsn: str) -> int:
    """Return the process id of the server that all backends are children of; it must be on this machine."""
    with psycopg.connect(dsn) as connection:
        parent = psutil.Process(connection.info.backend_pid).parent()
    assert parent is not None  # a backend always has one
    return parent.pid


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def python_path() -> str:
    """Return PYTHONPATH for processes that import this package."""
    return os.pathsep.join([str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])])
