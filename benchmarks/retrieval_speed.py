"""What memory costs beside its peers: `python benchmarks/retrieval_speed.py [--quick] [--json] [--plot FILE]`.

Discreet's hybrid search and its writes, LangGraph's AsyncPostgresStore (vectors only, with its HNSW index) and, where
they are installed, langmem's tool over that store and mem0's pgvector backend: each with tables and a pool of its own on
one embedded server, the same people, texts and vectors, VACUUM and ANALYZE for all, an HNSW index that was built after
loading. Embeddings are looked up on all sides, so that only database work is compared. In each repetition every
contestant in turn asks all questions; the first one warms the caches and doesn't count. A figure is the median of the
repetitions, of which each gives the median of its questions.

Nothing fails if a target is missed. `--million` and `--large` look at ours alone: a million rows of all people, and
people with up to 70,000 memories.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from comparing.report import Figure, as_json, as_table, machine
from racing.figures import measure
from racing.growing import large_people, million
from racing.meeting import meeting, missing
from racing.plot import draw
from racing.server import large_server

PEERS = {"langmem": "langmem", "mem0": "mem0ai"}
"""Packages by the modules that show them."""


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="20 people, short repetitions: the ratios are smaller then"
    )
    parser.add_argument("--users", type=int, help="people, with 1,000 memories each (default 100)")
    parser.add_argument("--dims", type=int, nargs="+", default=[512, 1536], help="lengths of vectors")
    parser.add_argument("--repetitions", type=int, help="default 7; 3 with --quick")
    parser.add_argument("--million", action="store_true", help="grow ours to a million rows as well")
    parser.add_argument("--large", action="store_true", help="people with 1,000 to 70,000 memories as well")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios (needs matplotlib)")
    options = parser.parse_args()
    with TemporaryDirectory() as folder, large_server(Path(folder)) as dsn:
        figures = asyncio.run(race(dsn, options))
        with psycopg.connect(dsn) as connection:
            server = connection.info.parameter_status("server_version") or ""
    where = machine(server, *(package for module, package in PEERS.items() if find_spec(module)))
    if options.plot:
        draw(figures, options.plot)
    print(as_json(figures, where) if options.json else "\n".join([as_table(figures, where, other="peer"), *missing()]))


async def race(dsn: str, options: argparse.Namespace) -> list[Figure]:
    """Return the figures that the options ask for."""
    users = options.users or (20 if options.quick else 100)
    repetitions = options.repetitions or (3 if options.quick else 7)
    figures: list[Figure] = []
    for dims in options.dims:
        with meeting(dsn, dims=dims, users=users) as met:
            figures += await measure(met, repetitions=repetitions, seconds=1 if options.quick else 5)
            if options.million:
                figures += await million(met, repetitions)
    if options.large:
        figures += await large_people(dsn, repetitions, quick=options.quick)
    return figures


if __name__ == "__main__":
    os.environ.setdefault("MEM0_TELEMETRY", "False")  # read when mem0 is imported
    main()
