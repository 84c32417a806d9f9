"""What is looked at: how long searches take, by which plan, and the sizes of what they read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

from racing.contestant import LIMIT
from racing.filling import keys
from racing.ours import OurRace
from racing.people import Lookup, Question

from discreet.storage.memories.token_counts import TokenSums

_SIZES: LiteralString = """
SELECT relname AS name, bytes
FROM pg_class c
CROSS JOIN LATERAL (SELECT CASE relkind WHEN 'r' THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END) s (bytes)
WHERE relnamespace = 'discreet'::regnamespace AND relkind IN ('r', 'i') AND bytes > 1000000
ORDER BY bytes DESC
"""
"""Of tables with what is out of line."""


def forget_pages(folder: Path) -> None:
    """Ask the system not to keep the pages of the files in `folder`, whose server has stopped."""
    for path in folder.rglob("*"):
        if path.is_file():
            with suppress(OSError, AttributeError), path.open("rb") as file:  # a socket; not a system that can be asked
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


async def search_each(race: OurRace, questions: Iterable[Question]) -> list[float]:
    """Ask one question after another; return the milliseconds of each."""
    taken = []
    for asked in questions:
        started = time.perf_counter()
        await race.search(asked.user_id, asked.text)
        taken.append(1e3 * (time.perf_counter() - started))
    return taken


async def save_each(race: OurRace, users: Sequence[str], texts: Sequence[str]) -> list[float]:
    """Save one of `texts`, whose vectors are known, for each of `users`; return the milliseconds of each."""
    taken = []
    for user_id, text in zip(users, texts, strict=True):
        started = time.perf_counter()
        await race.remember(user_id, text)
        taken.append(1e3 * (time.perf_counter() - started))
    return taken


async def seconds_of_sum(race: OurRace) -> float:
    """Return how long it takes to sum the counts of tokens anew, as a process does now and then."""
    started = time.perf_counter()
    async with race.storage.pool.connection() as connection, connection.transaction():
        await TokenSums(race.storage.pool).sum(connection.cursor(binary=True))
    return time.perf_counter() - started


async def sizes(race: OurRace, memories: int) -> list[str]:
    """Return a line for each table and index that matters."""
    async with race.storage.pool.connection() as connection:
        rows = await (await connection.execute(_SIZES)).fetchall()
    return [
        f"{row['name']:44}{row['bytes'] / 1e6:>10,.0f} MB{row['bytes'] / memories:>10,.0f} bytes a memory"
        for row in rows
    ]


async def plan(race: OurRace, question: Question, embeddings: Lookup) -> list[str]:
    """Return what the plan of a search reads, and by which nodes it goes."""
    vector = embeddings.embed_query(question.text)
    search = await race.storage.memories.plan(keys().of_user(question.user_id), question.text, vector, limit=LIMIT)
    statement = search.statement.encode()
    async with race.storage.pool.connection() as connection, connection.cursor() as cursor:
        await cursor.execute(b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement, search.parameters)
        row = await cursor.fetchone()
    assert row is not None
    [explained] = row.values()
    found = explained if isinstance(explained, list) else json.loads(explained)
    nodes = list(_nodes(found[0]["Plan"]))
    kinds = dict.fromkeys(node["Node Type"] for node in nodes)
    reads = [_read(node) for node in nodes if "Index Name" in node or "Relation Name" in node]
    return [", ".join(kinds), *reads, f"{found[0]['Execution Time']:.2f} ms"]


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _read(node: Mapping[str, Any]) -> str:
    what = node.get("Index Name", node.get("Relation Name", ""))
    rows = node["Actual Rows"] * node["Actual Loops"]
    pages = f"{node['Shared Hit Blocks']:,} pages in RAM, {node['Shared Read Blocks']:,} read"
    return f"{node['Node Type']} {what}: {rows:,.0f} rows, {pages}"
