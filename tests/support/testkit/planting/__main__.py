"""Plant a database from the command line: `python -m testkit.planting DSN --threads 200 --seed 7 --manifest FILE`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path

import psycopg

from testkit.planting.checking import threads_of_postgres, where_found
from testkit.planting.hostile import plant_hostile
from testkit.planting.manifest import write_manifest
from testkit.planting.planting import plant_database, plant_dev, plant_file, sizes
from testkit.planting.postgres import plant_shallow


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="testkit.planting", description=__doc__)
    parser.add_argument("dsn", help="an empty database of PostgreSQL, with pgvector")
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--manifest", type=Path, required=True, help="JSON lines: what was planted")
    parser.add_argument("--processes", type=int, default=1, help="that plant threads")
    parser.add_argument(
        "--shape", choices=("platform", "aegra"), default="platform", help="tables of which agent server"
    )
    parser.add_argument("--no-vectors", action="store_true", help="a store without vectors")
    parser.add_argument(
        "--hostile", type=Path, metavar="MARKER", help="add hostile rows; code that they run makes this file"
    )
    parser.add_argument("--shallow", metavar="DSN", help="fill this database through the shallow saver")
    parser.add_argument("--sqlite", type=Path, metavar="FILE", help="fill this file, too")
    parser.add_argument("--dev", type=Path, metavar="FOLDER", help="make .langgraph_api in this folder, too")
    parser.add_argument("--others", type=int, default=60, help="threads of each of the last three")
    return parser.parse_args()


async def _plant(given: argparse.Namespace) -> None:
    begun = time.monotonic()
    entries = await plant_database(
        given.dsn,
        threads=given.threads,
        seed=given.seed,
        processes=given.processes,
        vectors=not given.no_vectors,
        shape=given.shape,
    )
    write_manifest(given.manifest, entries)
    if given.hostile:
        with psycopg.connect(given.dsn) as connection:
            rows = plant_hostile(connection, given.hostile)
        print(f"{len(rows)} hostile rows")
    for kind, target in (("shallow", given.shallow), ("sqlite", given.sqlite), ("dev", given.dev)):
        if target is None:
            continue
        if kind == "shallow":
            others = await plant_shallow(target, range(given.others), seed=given.seed + 1)
            others = where_found(others, threads_of_postgres(target))  # it has deleted some
        elif kind == "sqlite":
            others = await plant_file(target, threads=given.others, seed=given.seed + 2)
        else:
            others = plant_dev(target, given.others, seed=given.seed + 3)
        write_manifest(given.manifest.with_suffix(f".{kind}.jsonl"), others)
    for table, (rows_of, size) in sizes(given.dsn).items():
        print(f"{table:30} {rows_of:>10,} rows {size:>15,} bytes")
    kinds = [entry.kind for entry in entries]
    print(
        f"{kinds.count('value'):,} values, {kinds.count('harmless'):,} harmless texts, {kinds.count('thread'):,} threads"
    )
    print(f"{time.monotonic() - begun:.1f} seconds")


if __name__ == "__main__":
    sys.exit(asyncio.run(_plant(_arguments())))
