"""Plant the files that `langgraph dev` leaves: pickles of checkpoints, of its store, and of threads and runs.

Its modules keep paths relative to the folder that they are imported in, so this runs in a process of its own:
`python -m testkit.planting.dev plant FOLDER THREADS SEED`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.messages import HumanMessage

from testkit.planting.manifest import DEV, Book, Entry, Harmless, Planted, Thread
from testkit.planting.registry import SCENARIOS, continue_thread
from testkit.planting.stores import planted_item
from testkit.planting.threads import plant_thread

KINDS = {"value": Planted, "harmless": Harmless, "thread": Thread}
FOLDER = ".langgraph_api"
ENVIRONMENT = {
    "LANGGRAPH_RUNTIME_EDITION": "inmem",
    "DATABASE_URI": ":memory:",
    "REDIS_URI": "fake",
    "MIGRATIONS_PATH": "__inmem",
}
"""What the command sets before it imports its modules."""


def plant_dev(folder: Path, threads: int, *, seed: int) -> list[Entry]:
    """Make `.langgraph_api` in `folder`; return what was planted."""
    folder.mkdir(parents=True, exist_ok=True)
    return [KINDS[line["kind"]](**line) for line in _call("plant", str(folder), str(threads), str(seed))]


def continue_dev(folder: Path, threads: Sequence[Thread]) -> list[int]:
    """Go on with threads of `.langgraph_api` in `folder`; return how many messages each has then."""
    counts: list[int] = _call("continue", str(folder), *(f"{thread.graph}={thread.thread_id}" for thread in threads))
    return counts


def _call(*arguments: str) -> Any:
    found = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-m", "testkit.planting.dev", *arguments],
        env=os.environ | ENVIRONMENT | {"PYTHONPATH": found},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


async def _plant(threads: int, seed: int) -> list[dict[str, Any]]:
    from langgraph_runtime_inmem.checkpoint import InMemorySaver  # type: ignore[import-untyped]  # ships no types; the folder is right now

    names = [name for name, each in SCENARIOS.items() if each.serializer is None]
    saver = InMemorySaver()
    entries: list[Entry] = []
    for number in range(threads):
        name = names[number % len(names)]
        entries += await plant_thread(number, lambda _: saver, seed=seed, graph_name=name, place="dev", tables=DEV)
    for kept in (saver.storage, saver.writes, saver.blobs):
        kept.sync()
    entries += _plant_store(Book(threads, seed)) + _plant_runs(Book(threads + 1, seed))
    return [asdict(entry) for entry in entries]


def _plant_store(book: Book) -> list[Entry]:
    from langgraph_runtime_inmem.store import DiskBackedInMemStore  # type: ignore[import-untyped]  # ships no types; the folder is right now

    store = DiskBackedInMemStore()
    for _ in range(10):
        namespace, key, value = planted_item(book)
        store.put(namespace, key, value)
    store.close()
    return [_in_file(entry, "store.pckl") for entry in book.entries]


def _plant_runs(book: Book) -> list[Entry]:
    from langgraph_runtime_inmem.database import GLOBAL_STORE  # type: ignore[import-untyped]  # ships no types; the folder is right now

    thread = UUID(int=book.random.getrandbits(128), version=4)
    values = {"messages": [HumanMessage(book.said("server_values")).model_dump()]}
    metadata = {"owner": book.plain("thread_metadata", types=("EMAIL",))}
    kept = {"thread_id": thread, "status": "idle", "metadata": metadata, "values": values, "interrupts": {}}
    GLOBAL_STORE["threads"].append(kept)
    kwargs = {"input": {"messages": [{"role": "user", "content": book.said("run_input")}]}, "config": {}}
    GLOBAL_STORE["runs"].append(
        {"run_id": UUID(int=1), "thread_id": thread, "kwargs": kwargs, "metadata": {}, "status": "success"}
    )
    GLOBAL_STORE.sync()
    return [_in_file(entry, ".langgraph_ops.pckl") for entry in book.entries]


def _in_file(entry: Entry, name: str) -> Entry:
    return type(entry)(**asdict(entry) | {"tables": [name]})


async def _go_on(threads: Sequence[str]) -> list[int]:
    from langgraph_runtime_inmem.checkpoint import InMemorySaver  # as above

    saver = InMemorySaver()
    pairs = [thread.split("=", 1) for thread in threads]
    return [await continue_thread(name, saver, thread_id) for name, thread_id in pairs]


def main(arguments: list[str]) -> None:
    """Do what `plant_dev` or `continue_dev` asks for; the last line is the answer."""
    command, folder, *rest = arguments
    os.chdir(folder)
    Path(FOLDER).mkdir(exist_ok=True)
    answer = asyncio.run(_plant(int(rest[0]), int(rest[1])) if command == "plant" else _go_on(rest))
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1:])
