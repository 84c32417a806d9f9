"""500 people at once: `python benchmarks/load.py [--quick] [--users 500] [--seconds 600] [--chaos] [--json]`.

People come, ten new ones a second. Each writes a message, three of ten a recording with its summary, reads the answer, waits five to ten seconds and
writes the next one. They are a process of their own, whose CPU is told, on the same machine. The embedding is stubbed and the model is the
offline one, so that we are measured and not the model. Measured are, one after another:

* rest: the REST API as `discreet serve --workers N` runs it; a message is a search and an entry.
* inside: the whole graph in one process, with its stores timed against the service levels.
* turns: the graph by `langgraph dev`, `--jobs` turns at a time; a message is a run that is waited for.
* cores: the REST API with as many workers as cores, on one core and on two, with people who don't wait.

CPU per message of server and database, and whether memory stays flat, are printed beside the latencies. With --chaos the database is
restarted and killed in the middle, one of two REST servers is killed with -9 and started again, the Redis of the claims is restarted, and
a third server logs to a full disk, and the server of the turns and the worker beside it are killed so too; then every acknowledged message is looked for. Exit code 1 if one is lost, or if there were
errors without chaos.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from comparing.report import machine
from loading.crowd import Pace
from loading.levels import Report
from loading.scenes import Options, Scene, cores, inside, rest, turns
from racing.meeting import progress

from discreet.storage.embedded import lease_server

SCENES: dict[str, Callable[[Scene], Report]] = {"rest": rest, "inside": inside, "turns": turns, "cores": cores}


def main() -> None:
    """Measure, and print what was found."""
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped then too
    reports, where = [], ""
    for name in options.only:
        progress(name)
        with _scene(options) as scene:
            reports.append(SCENES[name](scene))
            with psycopg.connect(scene.dsn) as connection:
                where = machine(connection.info.parameter_status("server_version") or "", "langgraph-api", "fastapi")
        if not options.json:
            print(reports[-1].as_text(), flush=True)
    if options.json:
        print(json.dumps({"machine": where, "reports": [report.as_dict() for report in reports]}, indent=2))
    else:
        print(f"{where}, {options.pace.users} users, load average {os.getloadavg()[1]:.1f}")
    sys.exit(any(report.failed for report in reports))


@contextmanager
def _scene(options: Options) -> Iterator[Scene]:
    with TemporaryDirectory() as name, lease_server(Path(name)) as dsn:
        yield Scene(options, Path(name), dsn)


def _options() -> Options:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 users who wait a second or two, some seconds each")
    parser.add_argument("--users", type=int, help="default 500")
    parser.add_argument("--seconds", type=float, help="of each scene, default 600")
    parser.add_argument("--workers", type=int, default=1, help="processes of the REST API, default %(default)s")
    parser.add_argument("--jobs", type=int, default=10, help="turns at a time, default %(default)s")
    parser.add_argument("--only", nargs="+", choices=SCENES, default=list(SCENES), help="scenes, default all")
    parser.add_argument(
        "--embedding", choices=("stub", "local"), default="stub", help="of the REST API, default %(default)s"
    )
    parser.add_argument("--chaos", action="store_true", help="break things in the middle of rest and turns")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    quick = Pace(given.users or 20, per_second=20, seconds=given.seconds or 4, wait_seconds=(1.0, 2.0))
    whole = Pace(given.users or 500, per_second=10, seconds=given.seconds or 600)
    return Options(
        pace=quick if given.quick else whole,
        workers=given.workers,
        jobs=given.jobs,
        embedding=given.embedding,
        chaos=given.chaos,
        json=given.json,
        only=given.only,
    )


if __name__ == "__main__":
    main()
