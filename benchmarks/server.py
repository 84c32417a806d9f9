"""What the layers of a server cost: `python benchmarks/server.py [--quick] [--json]`.

Two `langgraph dev` side by side, each over an embedded PostgreSQL of its own: the template as `langgraph.json` wires it, and
the same graph without ingress, guard, auth and redacting checkpointer, over AsyncPostgresSaver. The same person has the
same conversation with both, turn by turn by turns, through LangGraph's SDK, with the offline model. Afterwards both
folders, the database's files and what the server itself keeps, are searched for the values that were said.
Exit code 1 if our folder has one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from comparing.report import Group, as_json, as_table, machine
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from serving.project import ours, stock
from serving.server import served

from discreet.cli.planted import search_folder

OURS, STOCK = "ours", "stock"
PROJECTS = {OURS: ours, STOCK: stock}
USER = "ann"
FLUSH_SECONDS = 12
"""`langgraph dev` writes what it keeps every ten seconds."""


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 turns instead of 30")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    turns = 5 if options.quick else 30
    said = {number: f"Note {number}: write to person{number}@example.com about the parrots." for number in range(turns)}
    with TemporaryDirectory() as name:
        folders = {which: make(Path(name) / which) for which, make in PROJECTS.items()}
        with ExitStack() as stack:
            servers = {which: stack.enter_context(served(folder, user=USER)) for which, folder in folders.items()}
            took = asyncio.run(talk(servers, said))
            time.sleep(FLUSH_SECONDS)
        planted = {str(number): f"person{number}@example.com" for number in said}
        left = {which: len(search_folder(folder, planted).found) for which, folder in folders.items()}
    times, rest = Group(f"{turns} turns of each kind"), Group(f"of {turns} e-mail addresses that were said")
    for way in ("wait", "stream"):
        times.ratio(f"runs.{way}, median", "ms", took[STOCK][way], took[OURS][way])
    rest.figure("found in the files of the server", "values", [left[STOCK]], [left[OURS]], at_most=0)
    figures, where = [*times.figures, *rest.figures], machine("18, embedded", "langgraph-api")
    print(as_json(figures, where) if options.json else as_table(figures, where))
    sys.exit(1 if left[OURS] else 0)


async def talk(
    servers: dict[str, tuple[str, dict[str, str]]], said: dict[int, str]
) -> dict[str, dict[str, list[float]]]:
    """Return the milliseconds of each turn, by server and way."""
    clients = {which: get_client(url=url, headers=headers, api_key=None) for which, (url, headers) in servers.items()}
    took: dict[str, dict[str, list[float]]] = {which: {"wait": [], "stream": []} for which in clients}
    threads = {which: (await client.threads.create())["thread_id"] for which, client in clients.items()}
    for which, client in clients.items():  # what a process loads with its first turn is not measured
        await wait(client, threads[which], "Hello!")
    for number, text in said.items():
        for which in (OURS, STOCK) if number % 2 else (STOCK, OURS):
            for way, do in (("wait", wait), ("stream", stream)):
                started = time.perf_counter()
                await do(clients[which], threads[which], text)
                took[which][way].append(1000 * (time.perf_counter() - started))
    return took


async def wait(client: LangGraphClient, thread: str, text: str) -> None:
    """Run a turn and wait for the state after it."""
    await client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": text}]})


async def stream(client: LangGraphClient, thread: str, text: str) -> None:
    """Run a turn and read its events."""
    given = {"messages": [{"role": "user", "content": text}]}
    modes = ["values", "messages-tuple"]
    async for _ in client.runs.stream(thread, "agent", input=given, stream_mode=modes):  # type: ignore[arg-type]  # a list of literals
        pass


if __name__ == "__main__":
    main()
