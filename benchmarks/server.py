"""What the layers of a server cost: `python benchmarks/server.py [--quick] [--json]`.

Two `langgraph dev` side by side, each over an embedded PostgreSQL of its own: the template as `langgraph.json` wires it, and
the same graph without ingress, guard, auth and redacting checkpointer, over AsyncPostgresSaver. The same person has the
same conversation with both, turn by turn by turns, through LangGraph's SDK, with the offline model. Afterwards both
folders, the database's files and what the server itself keeps, are searched for the values that were said.
Then again with a model that writes a word every 20 ms, to see when its first word is there.
Exit code 1 if our folder has one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from comparing.report import Group, as_json, as_table, machine
from langchain_core.messages import AIMessage
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from serving.project import ours, stock
from serving.server import served

from discreet.cli.planted import search_folder
from discreet.testing.openai_server import openai_server

OURS, STOCK = "ours", "stock"
PROJECTS = {OURS: ours, STOCK: stock}
USER = "ann"
WORD_SECONDS = 0.02
"""50 words a second, as fast models write."""
ANSWER = (
    "Of course. African Grey parrots are social birds: they like company, need toys to chew on and a bath now and then. "
    "Give them pellets, vegetables and some fruit, and keep avocado and chocolate away from them. Two of them keep each "
    "other busy while nobody is at home, but they want to be talked to every day. A vet who knows birds should see them "
    "once a year, and more often while they are young or moulting."
)
MOST_LATER = 100.0
"""Milliseconds that a first word may be there later than with the stock server."""
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
    words = Group(f"{turns} answers of {len(ANSWER)} characters, a word every {1000 * WORD_SECONDS:.0f} ms")
    came = first_words(turns)
    first, whole, pieces = ({which: [each[of] for each in came[which]] for which in came} for of in range(3))
    words.ratio("first word, median", "ms", first[STOCK], first[OURS])
    words.figure("later than stock", "ms", [0.0], [median(first[OURS]) - median(first[STOCK])], at_most=MOST_LATER)
    words.ratio("whole answer, median", "ms", whole[STOCK], whole[OURS])
    words.figure("in how many pieces, median", "pieces", pieces[STOCK], pieces[OURS])
    figures, where = [*times.figures, *words.figures, *rest.figures], machine("18, embedded", "langgraph-api")
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


def first_words(turns: int) -> dict[str, list[tuple[float, float, float]]]:
    """Return of each turn, by server: milliseconds to the first word and to the end, and the pieces that came."""
    with TemporaryDirectory() as name, ExitStack() as stack:
        model = stack.enter_context(openai_server(repeat(AIMessage(ANSWER), 4 * turns + 8), word_seconds=WORD_SECONDS))
        settings = {"OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": model.base_url}
        servers = {
            which: stack.enter_context(served(make(Path(name) / which), user=USER, settings=settings))
            for which, make in PROJECTS.items()
        }
        return asyncio.run(listen(servers, turns))


async def listen(
    servers: dict[str, tuple[str, dict[str, str]]], turns: int
) -> dict[str, list[tuple[float, float, float]]]:
    """Have the turns, with one server after the other; see `first_words`."""
    clients = {which: get_client(url=url, headers=headers, api_key=None) for which, (url, headers) in servers.items()}
    came: dict[str, list[tuple[float, float, float]]] = {which: [] for which in clients}
    for number in range(-1, turns):
        for which in (OURS, STOCK) if number % 2 else (STOCK, OURS):
            heard = await hear(clients[which])
            if number >= 0:  # what a process loads with its first turn is not measured
                came[which].append(heard)
    return came


async def hear(client: LangGraphClient) -> tuple[float, float, float]:
    """Ask in a thread of its own; see `first_words`."""
    thread = (await client.threads.create())["thread_id"]
    given = {"messages": [{"role": "user", "content": "How are parrots kept?"}]}
    started, at = time.perf_counter(), list[float]()
    async for part in client.runs.stream(thread, "agent", input=given, stream_mode="messages-tuple"):
        if part.event == "messages" and part.data[0]["type"] == "AIMessageChunk" and part.data[0]["content"]:
            at.append(1000 * (time.perf_counter() - started))
    return at[0], at[-1], len(at)


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
