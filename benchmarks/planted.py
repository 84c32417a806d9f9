"""What of personal data and secrets lies on the disk after conversations: `python benchmarks/planted.py [--quick] [--json]`.

The same conversations with the template over `RedactingSaver`, with LangChain's agent over the stock PostgresSaver, and with the same
agent and all detectors of LangChain's PIIMiddleware, on input, output and tool results. In each turn the user tells one value and
a tool returns another one; the model repeats both. PostgreSQL is embedded, one server for each. Afterwards all rows of all
tables are read, and all files of the stopped server: tables, write-ahead log, server log. A value counts as found if it
stands in a row or in a file as it was. Exit code 1 if one of ours is found.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psycopg
from comparing.report import Figure, Group, as_json, as_table, machine
from planting.graphs import OPENERS, OURS, Opener
from planting.values import SAID, Turn, turns
from psycopg import sql

from discreet.cli.planted import search_folder
from discreet.state.context import Context
from discreet.storage.embedded import lease_server

TURNS_A_THREAD = 4


class Left(NamedTuple):
    """What was found afterwards."""

    values: set[str]
    rows: int
    """With at least one value."""


def main() -> None:
    """Have the conversations, look for the values, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 turns of each kind instead of 25")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    said = turns(2 if options.quick else 25)
    left: dict[str, Left] = {}
    for name, opener in OPENERS.items():
        print(f"… {name}: {len(said)} turns", file=sys.stderr)
        left[name] = play(opener, said)
    figures, where = compare(said, left), machine("18, embedded", "langchain")
    print(as_json(figures, where) if options.json else as_table(figures, where))
    sys.exit(1 if left[OURS].values else 0)


def play(opener: Opener, said: list[Turn]) -> Left:
    """Have the conversations over a new server and return what is left of the values."""
    planted = {value: value for turn in said for value in (turn.said_value, turn.result_value)}
    with TemporaryDirectory() as folder:
        with lease_server(Path(folder)) as dsn:
            asyncio.run(talk(opener, dsn, said))
            in_rows, rows = read_rows(dsn, planted)
        return Left(in_rows | set(search_folder(Path(folder), planted).found), rows)


async def talk(opener: Opener, dsn: str, said: list[Turn]) -> None:
    """Have all turns, some in each thread."""
    async with opener(dsn, said) as graph:
        for number, turn in enumerate(said):
            config = {"configurable": {"thread_id": f"thread-{number // TURNS_A_THREAD}"}}
            state = await graph.ainvoke({"messages": [("user", turn.said)]}, config, context=Context(user_id="u-1"))
            if state["messages"][-1].type != "ai":
                raise RuntimeError("the turn has no answer")


def read_rows(dsn: str, planted: dict[str, str]) -> tuple[set[str], int]:
    """Return the values that stand in rows, and how many rows have one."""
    found, rows = set[str](), 0
    with psycopg.connect(dsn) as connection:
        connection.execute("SET bytea_output = 'escape'")
        tables = connection.execute(
            "SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
            " WHERE relkind IN ('r', 'p') AND nspname !~ '^pg_' AND nspname <> 'information_schema'"
        ).fetchall()
        for table in tables:
            for (text,) in connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(*table))):
                here = {value for value in planted if value in text}
                found |= here
                rows += bool(here)
    return found, rows


def compare(said: list[Turn], left: dict[str, Left]) -> list[Figure]:
    """Return the figures of ours beside those of each other."""
    group = Group(f"{len(said)} turns, each with a value that is said and one that a tool returns")
    kinds = Group("Of both, by kind")
    for peer, found in left.items():
        if peer == OURS:
            continue
        for what, values in (
            ("said by the user, on the disk", [turn.said_value for turn in said]),
            ("returned by a tool, on the disk", [turn.result_value for turn in said]),
        ):
            counts = [[float(sum(value in each.values for value in values))] for each in (found, left[OURS])]
            group.figure(what, f"of {len(values)}", *counts, at_most=0, peer=peer)
        group.figure("rows with a value", "rows", [found.rows], [left[OURS].rows], at_most=0, peer=peer)
        for kind in SAID:
            values = [value for t in said if t.kind == kind for value in (t.said_value, t.result_value)]
            counts = [[float(sum(value in each.values for value in values))] for each in (found, left[OURS])]
            kinds.figure(kind, f"of {len(values)}", *counts, peer=peer)
    return [*group.figures, *kinds.figures]


if __name__ == "__main__":
    main()
