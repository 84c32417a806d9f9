"""One meeting of all contestants: the same people, on one server, at one number of dimensions."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import LiteralString

import psycopg
from comparing.database import Database
from loading.processes import postgres_pid, usage_of
from racing.contestant import Contestant, Race, settle
from racing.langgraph_store import LangGraphStore, LangMem
from racing.mem0_backend import Mem0
from racing.ours import Ours
from racing.people import Lookup, Question, make_person, make_questions

MEMORIES = 1_000
"""Memories of each person."""
ASKED = 10
"""People who ask questions, the first ones."""
QUESTIONS = 3
"""Questions of each of them."""

_GRAPH_SCANS: LiteralString = """
SELECT coalesce(sum(s.idx_scan), 0)
FROM pg_stat_user_indexes s
JOIN pg_class c ON c.oid = s.indexrelid
JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'hnsw'
"""


class Meeting:
    """The contestants with their databases, which are empty at first."""

    def __init__(self, databases: dict[str, Database], *, dims: int, users: int) -> None:
        self.dims = dims
        self.embeddings = Lookup(dims)
        self.people = [make_person(number, memories=MEMORIES, dims=dims) for number in range(users)]
        self.questions: list[Question] = []
        for person in self.people[:ASKED]:
            self.questions += make_questions(person, QUESTIONS, self.embeddings)
        self.databases = databases
        """By `Contestant.tables`."""
        self.contestants = [each for each in all_contestants() if each.tables in databases]
        self.loaded = 0
        """People who are in the databases."""

    async def load(self, people: int) -> None:
        """Let the first `people` be in all databases."""
        new = self.people[self.loaded : people]
        filled: set[str] = set()
        for contestant in self.contestants:
            if new and contestant.tables not in filled:
                progress(f"{self.dims} dims: loading {len(new)} people for {contestant.name}")
                await contestant.load(self.databases[contestant.tables].dsn, new, self.dims)
                filled.add(contestant.tables)
        for database in self.databases.values():
            await settle(database.dsn)
        self.loaded = people

    @asynccontextmanager
    async def open(self, *more: Contestant) -> AsyncIterator[dict[str, Race]]:
        """Open the connections of all contestants, and of `more`; yield them by name."""
        async with AsyncExitStack() as stack:
            yield {
                contestant.name: await stack.enter_async_context(
                    contestant.open(self.databases[contestant.tables].dsn, self.embeddings)
                )
                for contestant in (*self.contestants, *more)
            }

    def kilobytes(self) -> dict[str, float]:
        """Return what a memory takes up with its indexes, by `Contestant.tables`."""
        memories = MEMORIES * self.loaded
        return {tables: database.footprint().disk / memories / 1e3 for tables, database in self.databases.items()}

    def server_seconds(self) -> float:
        """Return the processor time that the server has used so far, of those connections that are open."""
        [database, *_] = self.databases.values()
        return usage_of(postgres_pid(database.dsn)).cpu_seconds

    def graph_scans(self) -> dict[str, int]:
        """Return how often an HNSW index was read so far, by `Contestant.tables`."""
        scans = {}
        for tables, database in self.databases.items():
            with psycopg.connect(database.dsn) as connection:
                row = connection.execute(_GRAPH_SCANS).fetchone()
            scans[tables] = int(row[0]) if row else 0
        return scans


@contextmanager
def meeting(admin_dsn: str, *, dims: int, users: int, only: Sequence[str] = ()) -> Iterator[Meeting]:
    """Make the databases, of the tables in `only` if any are given, and drop them at the end."""
    with ExitStack() as stack:
        names = dict.fromkeys(contestant.tables for contestant in all_contestants())
        databases = {name: stack.enter_context(Database(admin_dsn)) for name in names if not only or name in only}
        yield Meeting(databases, dims=dims, users=users)


def all_contestants() -> list[Contestant]:
    """Return those that are installed, ours first."""
    contestants: list[Contestant] = [Ours(), LangGraphStore()]
    if LangMem.available:
        contestants.append(LangMem())
    if Mem0.available:
        contestants.append(Mem0())
    return contestants


def missing() -> list[str]:
    """Return what to say about contestants that are not installed."""
    lines = []
    for peer, package in ((LangMem, "langmem"), (Mem0, "mem0ai")):
        if not peer.available:
            lines.append(f"{peer.name}: not installed: pip install {package}")
    return lines


def progress(what: str) -> None:
    """Say what is being done, apart from the figures."""
    print(what, file=sys.stderr, flush=True)
