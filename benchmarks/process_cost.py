"""What a process needs that serves turns: `python benchmarks/process_cost.py [--quick] [--json]`.

The graphs of benchmarks/turn.py, each in a process of its own, by turns, over one embedded server: memory when the graph stands, and
after a conversation with a tool result of 20 kB in each turn, and the CPU of a turn. The embedding is stubbed and the model answers
at once, so that neither is measured; the server's CPU and memory are not in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from comparing.database import Database
from comparing.report import Group, as_json, as_table, machine
from turn import OPENERS, OURS, STOCK, take_turn
from turning.talk import ConstantTimeEmbeddings, questions

from discreet.storage.embedded import lease_server

MEGABYTE = 1e6
WARM_UP_TURNS = 2
Cost = dict[str, float]


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 turns, once")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--alone", nargs=3, metavar=("SIDE", "DSN", "TURNS"), help="have the conversation here")
    options = parser.parse_args()
    if options.alone:
        side, dsn, count = options.alone
        print(json.dumps(asyncio.run(converse(side, dsn, int(count)))))
        return
    turns, repetitions = (5, 1) if options.quick else (30, 5)
    costs: dict[str, list[Cost]] = {STOCK: [], OURS: []}
    with TemporaryDirectory() as folder, lease_server(Path(folder)) as dsn:
        for number in range(repetitions):
            print(f"… {number + 1} of {repetitions}", file=sys.stderr)
            for side in (STOCK, OURS) if number % 2 else (OURS, STOCK):
                with Database(dsn) as database:
                    costs[side].append(in_a_process(side, database.dsn, turns))
    group = Group(f"a process with one graph, {turns} turns with a tool result of 20 kB")
    for what, unit in (
        ("memory, before the first turn", "MB"),
        ("memory, after the last", "MB"),
        ("CPU of a turn", "ms"),
    ):
        group.ratio(what, unit, *([cost[what] for cost in costs[side]] for side in (STOCK, OURS)))
    figures, where = group.figures, machine("18, embedded")
    print(as_json(figures, where) if options.json else as_table(figures, where))


def in_a_process(side: str, dsn: str, turns: int) -> Cost:
    """Return what a new process found out about itself."""
    command = [sys.executable, __file__, "--alone", side, dsn, str(turns)]
    cost: Cost = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return cost


async def converse(side: str, dsn: str, turns: int) -> Cost:
    """Have a conversation in this process."""
    said = questions(turns + WARM_UP_TURNS)
    async with OPENERS[side](dsn, ConstantTimeEmbeddings()) as graph:
        before = _resident()
        for text in said[:WARM_UP_TURNS]:
            await take_turn(graph, text, thread="warm-up")
        began = time.process_time()
        for text in said[WARM_UP_TURNS:]:
            await take_turn(graph, text, thread="1")
        spent = time.process_time() - began
        return {
            "memory, before the first turn": before,
            "memory, after the last": _resident(),
            "CPU of a turn": 1000 * spent / turns,
        }


def _resident() -> float:
    return float(psutil.Process().memory_info().rss / MEGABYTE)


if __name__ == "__main__":
    main()
