"""Run one benchmark as a process of its own, within its time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from suite.readers import Reader, sides
from suite.results import Run

HERE = Path(__file__).resolve().parents[1]
GRACE_SECONDS = 15
"""For a benchmark that is interrupted to stop its servers."""
QUIET = {"MEM0_TELEMETRY": "False", "LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
QUIET |= {"LANGGRAPH_NO_VERSION_CHECK": "true", "PYTHONWARNINGS": "ignore"}
"""Peers that would send something, or look for something, do not."""


@dataclass(frozen=True)
class Benchmark:
    """A script of this folder, and how it is run."""

    script: str
    what: str
    """What it measures."""
    seconds: float
    """It is stopped after so many."""
    options: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--quick",)
    """Options instead of those, for a quick run."""
    stock: str = "stock"
    """What the script calls stock."""
    read: Reader = sides

    @property
    def name(self) -> str:
        """The script without its ending."""
        return self.script.removesuffix(".py")


def run(benchmark: Benchmark, *, quick: bool, python: str = sys.executable, folder: Path = HERE) -> Run:
    """Run `benchmark`; what goes wrong is told in the result."""
    options = [*(benchmark.quick if quick else benchmark.options)]
    command = " ".join(["python", f"benchmarks/{benchmark.script}", *options])
    began = time.perf_counter()
    process = subprocess.Popen(
        [python, str(folder / benchmark.script), *options, "--json"],
        cwd=folder.parent,
        env={**os.environ, **QUIET},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    failure, printed = None, b""
    try:
        printed, _ = process.communicate(timeout=benchmark.seconds)
    except subprocess.TimeoutExpired:
        failure = f"stopped after {benchmark.seconds:,.0f} seconds"
        _stop(process)
    except KeyboardInterrupt:
        _stop(process)
        raise
    took = time.perf_counter() - began
    if failure is None:
        try:
            data = json.loads(printed)
            figures = benchmark.read(data, benchmark.stock)
        except (ValueError, LookupError, TypeError):  # whatever else it printed is no figures
            failure = f"no figures, exit code {process.returncode}"
    if failure is not None:
        return Run(benchmark.name, command, took, failure=failure)
    return Run(
        *(benchmark.name, command, took, data.get("machine", "")),
        missed=process.returncode != 0,
        notes=list(data.get("notes", ())),
        figures=figures,
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the benchmark, so that it stops what it has started; kill all of it if it does not."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
