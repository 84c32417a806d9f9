"""Run Python scripts in processes of their own that begin with the product imported.

An interpreter needs some three seconds to import it. One process of the standard library's fork server has done so, and
each script runs in a fork of that one. What is about imports themselves, or about an installed command, starts an
interpreter instead.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

PRELOADED = [
    "discreet.graph.compiled",
    "discreet.graph",
    "discreet.storage",
    "discreet.testing",
    "discreet.storage.embedded",
]

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(PRELOADED)


class ScriptProcess:
    """A script that runs; used like `subprocess.Popen` with pipes of text for all three streams.

    `script` is a file (a `Path`) or its text. It gets `environment`, else that of this process, and starts in `cwd`, else
    here. At the end of the block the process is killed if it still runs.
    """

    def __init__(
        self,
        script: Path | str,
        *arguments: object,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        read_in, self._input = _forking.Pipe(duplex=False)
        self._output, write_out = _forking.Pipe(duplex=False)
        self._errors, write_err = _forking.Pipe(duplex=False)
        self._process = _started(script, arguments, environment, cwd, (read_in, write_out, write_err))
        self.stdin = _opened(self._input, "w")
        self.stdout = _opened(self._output, "r")
        self.stderr = _opened(self._errors, "r")

    @property
    def pid(self) -> int:
        """Id of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return how it ended: its exit code, or the negative number of a signal; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return `poll()`.

        Raises:
            TimeoutError: It still runs after `timeout` seconds.
        """
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise TimeoutError(f"The script still runs after {timeout} s.")
        return code

    def kill(self) -> None:
        """Kill it, as by `kill -9`."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill it and close the pipes."""
        self.kill()
        self._process.join()
        for stream in (self.stdout, self.stderr):
            stream.close()
        with suppress(BrokenPipeError):  # something was written that it did not read
            self.stdin.close()


def run_script(
    script: Path | str,
    *arguments: object,
    input: str = "",
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 120.0,
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end with `input` and return what it wrote, as `subprocess.run` does."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        given.write(input)
        given.seek(0)
        ends = tuple(Connection(os.dup(each.fileno())) for each in (given, output, errors))
        process = _started(script, arguments, environment, cwd, ends)
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"The script still runs after {timeout} s.")
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([script, *arguments], process.exitcode, output.read(), errors.read())


def _started(
    script: Path | str,
    arguments: Iterable[object],
    environment: Mapping[str, str] | None,
    cwd: Path | None,
    ends: tuple[Connection, ...],
) -> Any:
    """Start a script whose three standard streams are `ends`, which are closed here."""
    where = (dict(environment or os.environ), str(cwd or Path.cwd()))
    process = _forking.Process(target=_run, args=(script, list(map(str, arguments)), *where, ends), daemon=True)
    process.start()
    for end in ends:
        end.close()
    return process


def _opened(end: Connection, mode: str) -> Any:
    """Return a stream of text in the place of a connection."""
    stream = os.fdopen(os.dup(end.fileno()), mode)
    end.close()
    return stream


def _run(
    script: Path | str, arguments: list[str], environment: dict[str, str], cwd: str, ends: tuple[Connection, ...]
) -> None:
    """Be the process of a script."""
    for number, end in enumerate(ends):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin = os.fdopen(0, "r", closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = [str(script) if isinstance(script, Path) else "-c", *arguments]
    if isinstance(script, Path):
        sys.path.insert(0, str(script.parent))
        runpy.run_path(str(script), run_name="__main__")
    else:
        exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
