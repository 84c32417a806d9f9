"""What a turn costs who adopts us, the model apart: `python benchmarks/turn.py [--quick] [--json] [--only PART …]`.

The same conversations with LangChain's agent over AsyncPostgresSaver, over our saver, with our saver and memory as in README.md,
and with the template. The model answers at once. All sides take each turn one after the other, in changing order; CPU is that
of this process until the work beside the turn has ended, without the database's. Embeddings are stubbed, then real (the local
model). `short`: ten short turns; `results`: 20 kB of tool result in each turn; `letters`: 10 kB in each message of the user;
`wire`: statements and round trips; `process`: the first turn of a new process beside later ones, and its memory.
Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import psutil
import psycopg
from comparing.database import Database
from comparing.report import Figure, Group, as_json, as_table, machine
from turning.sides import MEMORY, SIDES, STOCK, TEMPLATE, Graph, open_side
from turning.talk import USER, ConstantTimeEmbeddings, InstantModel, questions
from turning.wire import traced, traffic

from discreet.graph import drain
from discreet.providers.local import LocalEmbeddings
from discreet.storage.embedded import lease_server

EMBEDDINGS: dict[str, Any] = {"stubbed": ConstantTimeEmbeddings, "local": LocalEmbeddings}
WALL, CPU, FIRST, LATER = "a turn", "CPU of a turn", "first turn", "a later turn"
SLOWER, STATEMENTS, TRIPS = "first turn / a later one", "statements", "round trips"
EMPTY, FULL = "memory, before the first turn", "memory, after the last"
UNITS = dict.fromkeys((WALL, CPU, FIRST, LATER), "ms") | dict.fromkeys((STATEMENTS, TRIPS), "a turn")
UNITS |= {SLOWER: "times", EMPTY: "MB", FULL: "MB"}
STATEMENTS_AT_MOST = {(STATEMENTS, MEMORY): 5, (STATEMENTS, TEMPLATE): 6}
SLOWER_AT_MOST = {(SLOWER, MEMORY): 3, (SLOWER, TEMPLATE): 3}
FEW = 10
"""Turns that are enough to count statements, and for a process."""
Values = dict[tuple[str, str], list[float]]
"""By what was measured, and side."""
Span = tuple[int, int]
"""First and last turn, counted from 1."""


class Talk(NamedTuple):
    """A kind of conversation."""

    title: str
    characters: int
    """Of what the user says in a turn."""
    calls_tool: bool
    spans: Mapping[Span, float | None]
    """Turns that are measured, and how much CPU memory may take there with the local embedding, times stock."""
    quick: tuple[Span, ...]
    """Those of a quick run."""


TALKS = {
    "short": Talk("short turns", 60, False, {(1, 10): 2}, ((1, 10),)),
    "results": Talk(
        *("20 kB of tool result a turn", 60, True, {(1, 10): None, (11, 20): None, (21, 30): 1, (190, 199): 1}),
        quick=((1, 10), (11, 20), (21, 30)),
    ),
    "letters": Talk("10 kB of message a turn", 10_000, False, {(1, 10): None, (30, 39): None}, ((1, 10),)),
}
PARTS = [*TALKS, "wire", "process"]


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="no long threads, and fewer of each: two minutes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    parser.add_argument("--alone", nargs=3, metavar=("SIDE", "DSN", "EMBEDDING"), help="have a conversation here")
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(asyncio.run(alone(*options.alone))))
        return
    figures: list[Figure] = []
    with TemporaryDirectory() as folder, lease_server(Path(folder)) as dsn:
        for embedding in EMBEDDINGS:
            for talk in [talk for name, talk in TALKS.items() if name in options.only]:
                figures += asyncio.run(converse(dsn, talk, embedding, quick=options.quick))
        if "wire" in options.only:
            figures += asyncio.run(wire(dsn, calls_tool=False)) + asyncio.run(wire(dsn, calls_tool=True))
        if "process" in options.only:
            for embedding in EMBEDDINGS:
                figures += processes(dsn, embedding, 1 if options.quick else 3)
        with psycopg.connect(dsn) as connection:
            where = machine(connection.info.parameter_status("server_version") or "")
    print(as_json(figures, where) if options.json else as_table(figures, where))
    sys.exit(any(figure.met is False for figure in figures))


async def converse(admin_dsn: str, talk: Talk, embedding: str, *, quick: bool) -> list[Figure]:
    """Hold a conversation on all sides, and tell what its turns took."""
    print(f"… {talk.title}, embedding {embedding}", file=sys.stderr)
    spans = talk.quick if quick else list(talk.spans)
    turns = spans[-1][1]
    spent: dict[Span, Values] = {span: defaultdict(list) for span in spans}
    said, embeddings, graphs = questions(turns, talk.characters), EMBEDDINGS[embedding](), dict[str, Graph]()
    async with AsyncExitStack() as stack:
        for side in SIDES:
            dsn = stack.enter_context(Database(admin_dsn)).dsn
            graphs[side] = await stack.enter_async_context(
                open_side(side, dsn, embeddings, chat_model=InstantModel(calls_tool=talk.calls_tool))
            )
            for text in said[:2]:
                await take_turn(graphs[side], text, thread="warm-up")
        for thread in range(5 if turns <= FEW and not quick else 1):
            for number, text in enumerate(said, start=1):
                for side in SIDES[number % len(SIDES) :] + SIDES[: number % len(SIDES)]:
                    wall, cpu = await take_turn(graphs[side], text, thread=str(thread))
                    for values in [spent[first, last] for first, last in spans if first <= number <= last]:
                        values[WALL, side].append(wall)
                        values[CPU, side].append(cpu)
    figures: list[Figure] = []
    for span, values in spent.items():
        title = f"{talk.title}, turns {span[0]}–{span[1]}, embedding {embedding}"
        bound = {(CPU, MEMORY): talk.spans[span]} if embedding == "local" else {}
        figures += beside_stock(title, values, bound)
    return figures


async def take_turn(graph: Graph, text: str, *, thread: str) -> tuple[float, float]:
    """Say `text`, and return the milliseconds until the answer, and those of CPU until the work beside it has ended."""
    started, cpu = time.perf_counter(), time.process_time()
    state = await graph.ainvoke(
        {"messages": [("user", text)]}, {"configurable": {"thread_id": thread, "user_id": USER}}
    )
    wall = time.perf_counter() - started
    await drain()
    if state["messages"][-1].type != "ai":
        raise RuntimeError("the turn has no answer")
    return 1000 * wall, 1000 * (time.process_time() - cpu)


async def wire(admin_dsn: str, *, calls_tool: bool) -> list[Figure]:
    """Tell what the turns of a thread send to the database."""
    sent: Values = defaultdict(list)
    for side in SIDES:
        with TemporaryDirectory() as folder, traced(Path(folder)), Database(admin_dsn) as database:
            model = InstantModel(calls_tool=calls_tool)
            async with open_side(side, database.dsn, ConstantTimeEmbeddings(), chat_model=model) as graph:
                await take_turn(graph, "Hello.", thread="warm-up")
                for text in questions(FEW):
                    before = traffic(Path(folder))
                    await take_turn(graph, text, thread="1")
                    for what, old, new in zip((STATEMENTS, TRIPS), before, traffic(Path(folder)), strict=True):
                        sent[what, side].append(new - old)
    title = f"To the database, a turn with{'' if calls_tool else 'out'} a tool call"
    return beside_stock(title, sent, STATEMENTS_AT_MOST if calls_tool else {})


def processes(admin_dsn: str, embedding: str, repetitions: int) -> list[Figure]:
    """Tell what new processes find out about themselves, on databases that others have used."""
    print(f"… new processes, embedding {embedding}", file=sys.stderr)
    values: Values = defaultdict(list)
    with ExitStack() as stack:
        dsns = {side: stack.enter_context(Database(admin_dsn)).dsn for side in SIDES}
        for number in range(1 + repetitions):
            for side, dsn in dsns.items():
                command = [sys.executable, __file__, "--alone", side, dsn, embedding]
                found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                for what, value in found.items() if number else ():
                    values[what, side].append(value)
    title = f"A new process, {FEW} turns with 20 kB of tool result, embedding {embedding}"
    return beside_stock(title, values, SLOWER_AT_MOST)


async def alone(side: str, dsn: str, embedding: str) -> dict[str, float]:
    """Have a conversation in this process."""
    thread = str(uuid4())
    async with open_side(side, dsn, EMBEDDINGS[embedding]()) as graph:
        before = resident_mb()
        first, *later = [(await take_turn(graph, text, thread=thread))[0] for text in questions(FEW)]
        after = resident_mb()
    usual = median(later[FEW // 2 :])
    return {FIRST: first, LATER: usual, SLOWER: first / usual, EMPTY: before, FULL: after}


def resident_mb() -> float:
    """Return the memory of this process."""
    return float(psutil.Process().memory_info().rss / 1e6)


def beside_stock(title: str, values: Values, at_most: Mapping[tuple[str, str], float | None]) -> list[Figure]:
    """Return a line for each thing measured and each side of ours. Bounds are of the ratio where milliseconds are measured."""
    group = Group(title)
    for what, side in values:
        if side != STOCK:
            add, bound = (group.ratio if UNITS[what] == "ms" else group.figure), at_most.get((what, side))
            add(f"{what}: {side}", UNITS[what], values[what, STOCK], values[what, side], at_most=bound)
    return group.figures


if __name__ == "__main__":
    main()
