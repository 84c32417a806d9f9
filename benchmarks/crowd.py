"""Searches among a million memories, and of one user with many: `python benchmarks/crowd.py [--quick] [--json]`.

2,000 users with 500 memories each and one with 70,000 in one database of the embedded server, Discreet alone. First nobody has
indexes of their own, then the large user has, which the storage builds by itself. Each time the server is started anew and
the system asked to forget its files' pages; every user's first search after that counts as cold, those of the next rounds
as warm. Searches are made one after another, embeddings are looked up. It prints what the searches took, the plans, and
the sizes of tables and indexes. Nothing fails.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from comparing.report import machine
from comparing.spread import Spread, as_json, as_table
from crowding.looking import forget_pages, has_indexes, plan, save_each, search_each, seconds_of_sum, sizes
from crowding.people import Crowd, Size, fill_crowd
from racing.contestant import settle
from racing.meeting import progress
from racing.ours import OurRace, Ours
from racing.people import make_person
from racing.server import large_server

from discreet.storage.embedded import lease_server


@dataclass(frozen=True)
class Rounds:
    """How much is asked."""

    users: int
    """Who ask, of all."""
    large: int
    """Questions of the large user."""
    warm: int
    """Rounds after the first."""


@dataclass(frozen=True)
class Found:
    """What was found."""

    spreads: list[Spread] = field(default_factory=list)
    more: dict[str, list[str]] = field(default_factory=dict)
    """Lines by title."""


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 users with 100 memories, and one with 6,000")
    parser.add_argument("--users", type=int, help="default 2,000")
    parser.add_argument("--memories", type=int, help="of each of them (default 500)")
    parser.add_argument("--large", type=int, help="memories of the large user (default 70,000)")
    parser.add_argument("--dims", type=int, default=384, help="length of vectors (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    users, memories, large = (100, 100, 6_000) if options.quick else (2_000, 500, 70_000)
    size = Size(options.users or users, options.memories or memories, options.large or large, options.dims)
    rounds = Rounds(50, 10, 2) if options.quick else Rounds(400, 40, 5)
    with TemporaryDirectory() as name:
        found, server = measure(Path(name), size, rounds)
    where = machine(server)
    print(as_json(found.spreads, where, **found.more) if options.json else as_table(found.spreads, where, found.more))


def measure(folder: Path, size: Size, rounds: Rounds) -> tuple[Found, str]:
    """Fill a server in `folder` and ask it; return what was found and the server's version."""
    found = Found()
    with large_server(folder) as dsn:
        crowd = asyncio.run(fill_crowd(dsn, size, asked_of_large=rounds.large))
    for large_from in (0, size.large // 2):
        forget_pages(folder)
        with lease_server(folder) as dsn:
            asked = asyncio.run(ask(dsn, crowd, rounds, large_from))
            found.spreads.extend(asked.spreads)
            found.more.update(asked.more)
            with psycopg.connect(dsn) as connection:
                server = connection.info.parameter_status("server_version") or ""
        if not large_from:
            progress("building the large user's own indexes")
            with lease_server(folder) as dsn:
                seconds = asyncio.run(build_indexes(dsn, crowd, size.large // 2))
                found.more["Building the large user's own indexes"] = [f"{seconds:,.1f} s"]
    return found, server


async def until_indexed(race: OurRace, crowd: Crowd) -> None:
    """Wait until the storage searches by the large user's own indexes, which it builds if they are not there."""
    while not await has_indexes(race, crowd.large[0], crowd.embeddings):
        await asyncio.sleep(0.1)


async def build_indexes(dsn: str, crowd: Crowd, large_from: int) -> float:
    """Let a storage build the indexes of users with more than `large_from` memories; return the seconds that it took."""
    started = time.perf_counter()
    async with Ours().open(dsn, crowd.embeddings, large_user_memories=large_from) as race:
        await until_indexed(race, crowd)
    seconds = time.perf_counter() - started
    await settle(dsn)
    return seconds


async def ask(dsn: str, crowd: Crowd, rounds: Rounds, large_from: int) -> Found:
    """Ask all questions, in a database where users above `large_from` have their indexes already; 0: nobody."""
    size, found = crowd.size, Found()
    group = f"{size.users:,} users x {size.memories:,} and one x {size.large:,} memories, {size.dims} dims, "
    group += "with the large one's own indexes" if large_from else "no indexes of a user's own"
    progress(group)
    async with Ours().open(dsn, crowd.embeddings, large_user_memories=large_from) as race:
        if large_from:
            await until_indexed(race, crowd)
        for what, asked in (("a user's search", crowd.questions[: rounds.users]), ("the large user's", crowd.large)):
            cold = await search_each(race, asked)
            warm = [ms for _ in range(rounds.warm) for ms in await search_each(race, asked)]
            found.spreads.append(Spread.of(group, f"{what}, cold", cold))
            found.spreads.append(Spread.of(group, f"{what}, warm", warm))
            found.more[f"Plan of {what}: {group}"] = await plan(race, asked[0], crowd.embeddings)
        users = [question.user_id for question in crowd.questions[: rounds.users]]
        new = make_person(size.users + 1 + bool(large_from), memories=len(users), dims=size.dims)
        crowd.embeddings.add(new.texts, new.vectors)
        found.spreads.append(Spread.of(group, "a fact saved", await save_each(race, users, new.texts)))
        found.more[f"Sizes: {group}"] = await sizes(race, size.users * size.memories + size.large)
        found.more[f"The sum of all users' token counts: {group}"] = [f"{await seconds_of_sum(race):.2f} s"]
    return found


if __name__ == "__main__":
    main()
