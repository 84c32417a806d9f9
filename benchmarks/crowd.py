"""Searches among a million memories, and of one user with many: `python benchmarks/crowd.py [--quick] [--json]`.

2,000 users with 500 memories each and one with 70,000 in one database of the embedded server, Discreet alone. The server is
started anew and the system asked to forget its files' pages; every user's first search after that counts as cold, those of the
next rounds as warm. Searches are made one after another, embeddings are looked up. It prints what the searches took, the plans, and
the sizes of tables and indexes. Nothing fails.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from comparing.report import machine
from comparing.spread import Spread, as_json, as_table
from crowding.looking import forget_pages, plan, save_each, search_each, seconds_of_sum, sizes
from crowding.people import Crowd, Size, fill_crowd
from racing.meeting import progress
from racing.ours import Ours
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
    with large_server(folder) as dsn:
        crowd = asyncio.run(fill_crowd(dsn, size, asked_of_large=rounds.large))
    forget_pages(folder)
    with lease_server(folder) as dsn:
        found = asyncio.run(ask(dsn, crowd, rounds))
        with psycopg.connect(dsn) as connection:
            server = connection.info.parameter_status("server_version") or ""
    return found, server


async def ask(dsn: str, crowd: Crowd, rounds: Rounds) -> Found:
    """Ask all questions."""
    size, found = crowd.size, Found()
    group = f"{size.users:,} users x {size.memories:,} and one x {size.large:,} memories, {size.dims} dims"
    progress(group)
    async with Ours().open(dsn, crowd.embeddings) as race:
        for what, asked in (("a user's search", crowd.questions[: rounds.users]), ("the large user's", crowd.large)):
            cold = await search_each(race, asked)
            warm = [ms for _ in range(rounds.warm) for ms in await search_each(race, asked)]
            found.spreads.append(Spread.of(group, f"{what}, cold", cold))
            found.spreads.append(Spread.of(group, f"{what}, warm", warm))
            found.more[f"Plan of {what}: {group}"] = await plan(race, asked[0], crowd.embeddings)
        users = [question.user_id for question in crowd.questions[: rounds.users]]
        new = make_person(size.users + 1, memories=len(users), dims=size.dims)
        crowd.embeddings.add(new.texts, new.vectors)
        found.spreads.append(Spread.of(group, "a fact saved", await save_each(race, users, new.texts)))
        found.more[f"Sizes: {group}"] = await sizes(race, size.users * size.memories + size.large)
        found.more[f"The sum of all users' token counts: {group}"] = [f"{await seconds_of_sum(race):.2f} s"]
    return found


if __name__ == "__main__":
    main()
