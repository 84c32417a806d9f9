"""How long a server takes to start: `python benchmarks/start.py [--runs 7] [--json]`.

`discreet dev` with the template as `langgraph.json` wires it, and a bare `langgraph dev` with a graph of one node, nothing of
ours and LangGraph's own in-memory storage, one after the other, from the start of the process to the first `/ok`. The
embedded database is made beforehand; that first start is told apart. CPU is that of all Python processes until then, which
other work on the machine changes less than the time. Then what the processes import, dearest first.
Exit code 1 if ours takes more than 1.5 times as long.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil
from comparing.report import Group, as_json, as_table, machine
from serving.project import bare, ours
from serving.server import free_port

OURS, BARE = "ours", "bare"
PROJECTS = {OURS: ours, BARE: bare}
MOST = 1.5
WAIT_SECONDS = 120
ROWS = 25
POLL_SECONDS = 0.02
QUIET = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false"}
COMMANDS = {
    "import discreet": ["-c", "import discreet"],
    "first redact()": ["-c", "from discreet.redaction import redact; redact('Write to ann@example.com.')"],
    "discreet --help": ["-c", "import sys; from discreet.cli import main; sys.argv = ['discreet', '--help']; main()"],
}


@dataclass(frozen=True)
class Started:
    """A start, until the first `/ok`."""

    seconds: float
    cpu_seconds: float
    """Of all Python processes."""
    log: str


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="starts of each")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    took: dict[str, list[float]] = {OURS: [], BARE: []}
    cpu: dict[str, list[float]] = {OURS: [], BARE: []}
    with TemporaryDirectory() as name:
        folders = {which: make(Path(name) / which) for which, make in PROJECTS.items()}
        first = {which: start(which, folder).seconds for which, folder in folders.items()}
        for number in range(options.runs):
            for which in (OURS, BARE) if number % 2 else (BARE, OURS):
                started = start(which, folders[which])
                took[which].append(started.seconds)
                cpu[which].append(started.cpu_seconds)
        imports = {which: imported(which, folder) for which, folder in folders.items()}
    starting = Group(f"to /ok, {options.runs} starts of each, median")
    starting.ratio("time", "s", took[BARE], took[OURS], at_most=MOST)
    starting.ratio("CPU of Python", "s", cpu[BARE], cpu[OURS])
    starting.figure("the very first start", "s", [first[BARE]], [first[OURS]])
    others = Group("others, beside a Python that does nothing")
    nothing = [run(["-c", "pass"]) for _ in range(options.runs)]
    for what, command in COMMANDS.items():
        others.figure(what, "s", nothing, [run(command) for _ in range(options.runs)])
    figures, where = [*starting.figures, *others.figures], machine("18, embedded", "langgraph-api")
    print(as_json(figures, where) if options.json else as_table(figures, where, other=BARE))
    if not options.json:
        print(
            f"\nImports until /ok, ms of their own ({ROWS} of ours that cost most; bare has imported some of them too)"
        )
        for package, seconds in sorted(imports[OURS].items(), key=itemgetter(1), reverse=True)[:ROWS]:
            print(f"  {package:42}{1000 * imports[BARE].get(package, 0.0):>12,.1f}{1000 * seconds:>12,.1f}")
    sys.exit(0 if starting.figures[0].met else 1)


def start(which: str, folder: Path, *, environment: dict[str, str] | None = None) -> Started:
    """Start a server, wait until it answers `/ok`, and stop it."""
    port = free_port()
    options = ["dev", "--port", str(port)] + (["--no-browser", "--no-reload"] if which == BARE else [])
    program = (
        [str(Path(sys.executable).with_name("discreet"))] if which == OURS else [sys.executable, "-m", "langgraph_cli"]
    )
    log = folder / "server.log"
    with log.open("wb") as output, httpx.Client() as client:
        began = time.perf_counter()
        process = subprocess.Popen(
            [*program, *options],
            cwd=folder,
            env={**os.environ, **QUIET, **(environment or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while time.perf_counter() - began < WAIT_SECONDS:
                if process.poll() is not None:
                    raise RuntimeError(log.read_text())
                try:
                    if client.get(f"http://127.0.0.1:{port}/ok").is_success:
                        return Started(time.perf_counter() - began, _cpu_seconds(process.pid), log.read_text())
                except httpx.TransportError:
                    time.sleep(POLL_SECONDS)
            raise TimeoutError(log.read_text())
        finally:
            process.terminate()
            process.wait(60)


def imported(which: str, folder: Path) -> dict[str, float]:
    """Return the seconds that importing takes, by package, and in ours by room."""
    log = start(which, folder, environment={"PYTHONPROFILEIMPORTTIME": "1"}).log
    found: dict[str, float] = defaultdict(float)
    for microseconds, module in re.findall(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$", log, re.MULTILINE):
        parts = module.split(".")
        found[".".join(parts[: 3 if parts[0] == "discreet" else 1])] += int(microseconds) / 1e6
    return found


def run(arguments: Sequence[str]) -> float:
    """Return the seconds that a Python process takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _cpu_seconds(pid: int) -> float:
    parent = psutil.Process(pid)
    times = [each.cpu_times() for each in (parent, *parent.children(recursive=True)) if "python" in each.exe()]
    return sum(each.user + each.system for each in times)


if __name__ == "__main__":
    main()
