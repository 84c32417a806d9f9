"""What the redacting checkpointer costs beside LangGraph's own: `python benchmarks/checkpoint.py [--quick] [--json]`.

Both savers run the same conversations, some turns of one and then as many of the other, on new databases of one embedded
server: LangGraph's over a pool, and `RedactingSaver` over a pool like it. Medians of the repetitions are shown, with their
ratio and the target for it; nothing fails if a target is missed.

"A call" is one of the calls of `put` or `put_writes` that LangGraph makes, whatever is done at it: stored or kept in RAM.
Its CPU is that of this process while it runs in the call, in whatever thread; what it waits, and what the server or the
event loop do meanwhile, is not in it. A pool's connections are met in a few turns before, which are not counted there.

`--only` takes names of measurements, `--profile` shows instead where the time of our saver goes. docs/checkpointer.md has
the figures of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from checkpointing import measures, put_cost
from comparing.report import Figure, as_json, as_table, machine

from discreet.storage.embedded import lease_server

MEASUREMENTS = ("tools", "plain", "long", "clients")


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="half a minute: a fifth of the turns or fewer; the ratios are smaller then"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=MEASUREMENTS)
    parser.add_argument(
        "--profile", action="store_true", help="profile our saver in the measurements 'tools' and 'long'"
    )
    options = parser.parse_args()
    with TemporaryDirectory() as folder, lease_server(Path(folder)) as dsn:
        if options.profile:
            profile(dsn, options.only)
            return
        figures = measure(dsn, options.only, quick=options.quick)
        with psycopg.connect(dsn) as connection:
            where = machine(connection.info.parameter_status("server_version") or "")
    print(as_json(figures, where) if options.json else as_table(figures, where))


def measure(dsn: str, names: Sequence[str], *, quick: bool) -> list[Figure]:
    """Return the figures of the measurements in `names`."""
    repetitions = 1 if quick else 3
    figures: list[Figure] = []
    for name, tool_chars in (("tools", put_cost.TOOL_CHARS), ("plain", 0)):
        for blocking in (False, True) if name in names else ():
            turns = 10 if quick else 50
            group = put_cost.measure(
                dsn, turns=turns, repetitions=repetitions, tool_chars=tool_chars, blocking=blocking
            )
            figures += group.figures
    if "long" in names:
        turns, window = (50, 10) if quick else (500, 50)
        figures += asyncio.run(measures.long_thread(dsn, turns=turns, window=window)).figures
    if "clients" in names:
        turns = 3 if quick else 25
        figures += asyncio.run(measures.clients(dsn, count=16, turns=turns, repetitions=repetitions)).figures
    return figures


def profile(dsn: str, names: Sequence[str]) -> None:
    """Print where the CPU goes while our saver keeps a conversation."""
    for name, turns, tool_chars in (("tools", 50, put_cost.TOOL_CHARS), ("long", 200, 0)):
        if name in names:
            profiler = cProfile.Profile()
            profiler.enable()
            asyncio.run(measures.talk_alone(dsn, turns=turns, tool_chars=tool_chars))
            profiler.disable()
            print(f"{turns} turns of '{name}'")
            pstats.Stats(profiler, stream=sys.stdout).sort_stats("cumulative").print_stats("discreet|checkpoint", 40)


if __name__ == "__main__":
    main()
