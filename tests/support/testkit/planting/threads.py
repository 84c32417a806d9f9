"""Plant threads through a stock saver, by really running graphs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Durability

from testkit.planting.manifest import POSTGRES, Book, Entry, Thread
from testkit.planting.registry import SCENARIOS, count_messages
from testkit.planting.scenarios.base import Scenario
from testkit.planting.sessions import Session

DURABILITIES: tuple[Durability, ...] = ("exit", "exit", "async", "sync")


async def plant_thread(
    number: int,
    saver: Callable[[str], BaseCheckpointSaver[Any]],
    *,
    seed: int,
    graph_name: str | None = None,
    place: str = "postgres",
    tables: Mapping[str, str] = POSTGRES,
) -> list[Entry]:
    """Make the thread of this number; return what was planted. By default each graph has its turn.

    `saver` gives the saver for the name of a serializer.
    """
    name = graph_name or list(SCENARIOS)[number % len(SCENARIOS)]
    scenario = SCENARIOS[name]
    chance = random.Random(f"{seed}/{number}")
    durability: Durability = chance.choice(DURABILITIES[2:] if scenario.needs_steps else DURABILITIES)
    book = Book(
        number,
        seed,
        tables=tables,
        encrypted=scenario.serializer == "encrypting",
        stepwise=durability != "exit",
    )
    book.thread_id = f"thread-{seed}-{number}"
    if chance.random() < 0.1:
        book.thread_id = book.plain("thread_id", "checkpoint", "blobs", types=("EMAIL",))
    given = saver(scenario.serializer or "default")
    session = _session(scenario, given, book, durability)
    await scenario.plant(session)
    thread = Thread(book.thread_id, name, scenario.serializer or place, scenario.state, await count_messages(session))
    return [*book.entries, thread]


def _session(scenario: Scenario, saver: BaseCheckpointSaver[Any], book: Book, durability: Durability) -> Session:
    assert book.thread_id is not None
    session = Session(scenario.graph, saver, book.thread_id, book=book, durability=durability)
    if book.random.random() < 0.5:
        session.config["metadata"] = {
            "customer": book.said("run_metadata", "metadata"),
            "contact": book.plain("run_metadata", "metadata", types=("EMAIL",)),
        }
        session.config["configurable"] |= {
            "user_email": book.plain("configurable", "metadata", types=("EMAIL",)),
            "partner_api_key": book.plain("configurable", "metadata", types=("SECRET",)),
        }
    return session
