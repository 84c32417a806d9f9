"""Many callers at once over a small pool: `python benchmarks/callers.py [--quick] [--json]`.

500 callers, without a pause, for a minute each time, share the six connections of one process: a turn of a user drawn of
100 is a search and an append to the conversation log, and every third saves a fact. Alone, and then beside one slow user,
whose memories, or whose user, another session has locked for two seconds at a time, or who imports a thousand records again
and again; alone anew before each, as what was saved makes all of them slower. It prints how long the calls took that
succeeded, the slow user's apart, and how many failed, by code: no error but refusals by DISCREET_MAX_WAITING, which the
environment may set lower to see some, is meant to be there. Embeddings are looked up and nothing is redacted, so that the
database's work is what is measured. Nothing fails.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from calling.slow import Trouble, held_by_a_writer, held_by_an_erasure, importing
from calling.traffic import Tally, Users, call_for
from comparing.report import machine
from comparing.spread import as_json, as_table
from racing.contestant import settle
from racing.meeting import progress
from racing.ours import Ours
from racing.server import large_server

from discreet.settings import load_settings

DIMS = 384
POOL = 6

TROUBLES: dict[str, Trouble] = {
    "beside a user whom another process writes for, 2 s at a time": held_by_a_writer,
    "beside a user whom another process erases, 2 s at a time": held_by_an_erasure,
    "beside a user who imports 1,000 records in a loop": importing,
}


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="five seconds each")
    parser.add_argument("--seconds", type=float, help="default 60")
    parser.add_argument("--callers", type=int, default=500, help="default %(default)s")
    parser.add_argument("--users", type=int, default=100, help="default %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    seconds = options.seconds or (5 if options.quick else 60)
    with TemporaryDirectory() as name, large_server(Path(name)) as dsn:
        tallies = asyncio.run(measure(dsn, options.callers, options.users, seconds))
        with psycopg.connect(dsn) as connection:
            where = machine(connection.info.parameter_status("server_version") or "")
    where += f", {options.callers} callers, pool of {POOL}, DISCREET_MAX_WAITING {load_settings().max_waiting:,}"
    spreads = [spread for title, tally in tallies.items() for spread in tally.spreads(title)]
    failures = {f"Errors, {title}": tally.failures() for title, tally in tallies.items()}
    print(as_json(spreads, where, **failures) if options.json else as_table(spreads, where, failures))


async def measure(dsn: str, callers: int, number: int, seconds: float) -> dict[str, Tally]:
    """Let them call in each trouble, one after the other; return what became of it."""
    users = Users.make(number, DIMS)
    await Ours().load(dsn, users.people, DIMS)
    await settle(dsn)
    slow = users.people[0].user_id
    tallies = {}
    for scene, (title, trouble) in enumerate(TROUBLES.items(), start=1):
        alone = f"{scene}. alone"
        async with Ours().open(dsn, users.embeddings, pool_size=POOL) as race:
            progress(f"{callers} callers {alone}")
            tallies[alone] = await call_for(race.storage, users, callers=callers, seconds=seconds, slow=None)
            progress(f"{callers} callers {title}")
            async with trouble(race.storage, users, slow):
                tallies[title] = await call_for(race.storage, users, callers=callers, seconds=seconds, slow=slow)
    return tallies


if __name__ == "__main__":
    main()
