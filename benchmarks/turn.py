"""What a turn costs beside a stock graph, the model apart: `python benchmarks/turn.py [--quick] [--json]`.

Both graphs hold the same conversation of 50 turns, each with a tool result of 20 kB and a model that answers at once: the
template over one storage, and the shape of LangChain's memory-agent over AsyncPostgresStore and AsyncPostgresSaver. Turns
are taken by turns, in chunks of five. The embedding is stubbed on both sides, then real (the local model).
Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import psycopg
from comparing.database import Database
from comparing.report import Figure, Group, as_json, as_table, machine
from langgraph.graph.state import CompiledStateGraph
from turning.ours import our_graph
from turning.stock import stock_graph
from turning.talk import USER, ConstantTimeEmbeddings, questions

from discreet.providers.local import LocalEmbeddings
from discreet.state.context import Context
from discreet.storage.embedded import lease_server

Graph = CompiledStateGraph[Any, Any, Any, Any]
Opener = Callable[[str, Any], AbstractAsyncContextManager[Graph]]
STOCK, OURS = "stock", "ours"
OPENERS: dict[str, Opener] = {STOCK: stock_graph, OURS: our_graph}
CHUNK = 5


class Cost(NamedTuple):
    """One conversation."""

    turns_ms: list[float]
    disk_mb: float
    """What the conversation added."""
    wal_mb: float


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10 turns, once; the ratios are smaller then")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    turns, repetitions = (10, 1) if options.quick else (50, 3)
    with TemporaryDirectory() as folder, lease_server(Path(folder)) as dsn:
        figures = asyncio.run(stubbed(dsn, turns, repetitions)) + asyncio.run(local(dsn, turns))
        with psycopg.connect(dsn) as connection:
            where = machine(connection.info.parameter_status("server_version") or "")
    print(as_json(figures, where) if options.json else as_table(figures, where))
    sys.exit(any(figure.met is False for figure in figures))


async def stubbed(dsn: str, turns: int, repetitions: int) -> list[Figure]:
    """Measure with vectors that cost nothing."""
    costs: dict[str, list[Cost]] = {STOCK: [], OURS: []}
    for number in range(repetitions):
        print(f"embedding stubbed, {number + 1} of {repetitions}", file=sys.stderr)
        for side, cost in (await conversation(dsn, turns, ConstantTimeEmbeddings())).items():
            costs[side].append(cost)
    group = Group(f"{turns} turns with a tool result of 20 kB, embedding stubbed")
    _add(group, costs, time_at_most=1 / 2, bytes_at_most=1 / 50)
    return group.figures


async def local(dsn: str, turns: int) -> list[Figure]:
    """Measure with the local model."""
    print("local embedding", file=sys.stderr)
    costs = {side: [cost] for side, cost in (await conversation(dsn, turns, LocalEmbeddings())).items()}
    group = Group(f"{turns} turns, local embedding on both sides")
    _add(group, costs)
    return group.figures


async def conversation(admin_dsn: str, turns: int, embeddings: Any) -> dict[str, Cost]:
    """Hold one conversation on each side, by turns."""
    said = questions(turns + 1)
    spent: dict[str, list[float]] = {STOCK: [], OURS: []}
    async with AsyncExitStack() as stack:
        databases = {side: stack.enter_context(Database(admin_dsn)) for side in OPENERS}
        graphs = {
            side: await stack.enter_async_context(opener(databases[side].dsn, embeddings))
            for side, opener in OPENERS.items()
        }
        for graph in graphs.values():
            await take_turn(graph, said[turns], thread="warm-up")
        before = {side: database.footprint().disk for side, database in databases.items()}
        for start in range(0, turns, CHUNK):
            for side, graph in graphs.items():
                with databases[side].writing(first=start == 0):
                    spent[side] += [await take_turn(graph, text, thread="1") for text in said[start : start + CHUNK]]
        return {side: _cost(spent[side], databases[side], before[side]) for side in OPENERS}


async def take_turn(graph: Graph, text: str, *, thread: str) -> float:
    """Say `text`, and return the seconds until the answer."""
    started = time.perf_counter()
    config = {"configurable": {"thread_id": thread}}
    state = await graph.ainvoke({"messages": [("user", text)]}, config, context=Context(user_id=USER))
    spent = time.perf_counter() - started
    if state["messages"][-1].type != "ai":
        raise RuntimeError("the turn has no answer")
    return spent


def _cost(spent: Sequence[float], database: Database, before: int) -> Cost:
    after = database.footprint()
    return Cost([1000 * each for each in spent], (after.disk - before) / 1e6, after.wal / 1e6)


def _add(
    group: Group,
    costs: dict[str, list[Cost]],
    *,
    time_at_most: float | None = None,
    bytes_at_most: float | None = None,
) -> None:
    def each(value: Callable[[Cost], float]) -> tuple[list[float], list[float]]:
        return [value(cost) for cost in costs[STOCK]], [value(cost) for cost in costs[OURS]]

    turns = ([ms for cost in costs[side] for ms in cost.turns_ms] for side in (STOCK, OURS))
    group.ratio("a turn, median", "ms", *turns, at_most=time_at_most)
    group.ratio("all turns", "s", *each(lambda cost: sum(cost.turns_ms) / 1000))
    group.ratio("disk", "MB", *each(lambda cost: cost.disk_mb), at_most=bytes_at_most)
    group.ratio("WAL", "MB", *each(lambda cost: cost.wal_mb), at_most=bytes_at_most)


if __name__ == "__main__":
    main()
