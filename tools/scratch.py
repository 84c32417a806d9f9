"""Folders for runs of tests: in memory where it has room for their servers' files, as the Makefile's IN_SCRATCH chooses."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of random name is made in it
ROOM = 6_000_000_000
"""Bytes that have to be free in memory: a run of all tests needs some four gigabytes."""
NOT_OURS = ("FORCE_COLOR", "PY_COLORS", "PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
"""Variables that change what pytest runs, or how it says what failed."""
PATIENCE = 10.0
"""Seconds that processes have to end by themselves: a test's PostgreSQL needs one or two."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder that programs can be started from, and remove it with the processes that were started in it."""
    folder = _in_memory() or Path(tempfile.mkdtemp(prefix="discreet-tests."))
    folder.chmod(0o755)  # PostgreSQL runs as another user where tests run as root
    try:
        yield folder
    finally:
        end_processes(folder)
        shutil.rmtree(folder, ignore_errors=True)


def environment_for(folder: Path) -> dict[str, str]:
    """Return the environment of a run of pytest that has `folder` for its files."""
    return {name: value for name, value in os.environ.items() if name not in NOT_OURS} | {"TMPDIR": str(folder)}


def interrupt_when_ended() -> None:
    """Have this process clean up where it is ended, or its terminal closed, as where Ctrl-C is pressed."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)


def _in_memory() -> Path | None:
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        return None
    folder = Path(tempfile.mkdtemp(prefix="discreet-tests.", dir=MEMORY))
    with suppress(OSError):
        program = shutil.copy("/bin/true", folder / "runs")
        if subprocess.run([program], check=False).returncode == 0:
            return folder
    shutil.rmtree(folder)
    return None


def end_processes(folder: Path) -> None:
    """End every process that works in `folder` or has it as TMPDIR, whoever its parent is by now."""
    found = [process for process in psutil.process_iter() if _is_of(process, folder)]
    for process in found:
        with suppress(psutil.Error):
            process.terminate()
    for process in psutil.wait_procs(found, timeout=PATIENCE)[1]:
        with suppress(psutil.Error):
            process.kill()


def _is_of(process: psutil.Process, folder: Path) -> bool:
    """Tell whether `process` was started by a run in `folder`; a server of PostgreSQL has lost its environment."""
    if process.pid == os.getpid():
        return False
    with suppress(psutil.Error):
        places = [process.cwd(), process.environ().get("TMPDIR", "")]
        return any(Path(place).is_relative_to(folder) for place in places if place)
    return False
