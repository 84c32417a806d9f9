"""The summariser over the real storage: several processes' worth of committers, and a restart."""

import asyncio
import re

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from discreet.nodes.rolling_summary import RollingSummariser, remember_summary
from discreet.ports import RollingSummary
from discreet.redaction import Redactor
from discreet.storage import open_storage

THREADS = ("one", "two", "three")


class Numbers:
    """Summarises `q7` to `7`."""

    async def summarize(self, rounds, *, earlier="", max_tokens=200):
        await asyncio.sleep(0)
        return " ".join(re.findall(r"q(\d+)\.", " ".join(each.said for each in rounds)) or re.findall(r"\d+", earlier))


def talk(rounds):
    return [
        message
        for n in range(1, rounds + 1)
        for message in (HumanMessage(f"This is q{n}.", id=f"q{n}"), AIMessage(f"Yes, a{n}.", id=f"a{n}"))
    ]


def covered(summary):
    return [int(number) for number in re.findall(r"\d+", summary.text)]


@pytest.fixture
async def storage(database):
    async with open_storage(database) as storage:
        yield storage


@pytest.mark.slow
async def test_eight_committers_at_once_lose_and_double_no_round(storage):
    committers = [RollingSummariser(storage.summaries, Numbers(), len, budget=10_000) for _ in range(8)]
    for each in committers:
        await each.after_turn("ann", "another", [])  # the event loop has served a turn
    for rounds in range(5, 24, 3):
        await asyncio.gather(
            *(each.after_turn("ann", thread, talk(rounds)) for each in committers for thread in THREADS)
        )
        await asyncio.gather(*(each.drain() for each in committers))
        for thread in THREADS:
            stored = await storage.summaries.get("ann", thread)
            assert covered(stored) == list(range(1, rounds - rounds % 5 + 1))
            assert (stored.rounds, stored.last_message_id) == (rounds - rounds % 5, f"a{rounds - rounds % 5}")


async def test_a_restart_continues(database):
    for rounds in (7, 12):
        async with open_storage(database) as storage:
            summariser = RollingSummariser(storage.summaries, Numbers(), len, budget=10_000, background=False)
            await summariser.after_turn("ann", "t", talk(rounds))
            shown = await summariser.current("ann", "t", talk(rounds))
            assert covered(shown) == list(range(1, rounds - rounds % 5 + 1))
            assert await summariser.current("bob", "t", talk(rounds)) == RollingSummary()


@pytest.mark.slow
async def test_a_value_reaches_neither_the_summary_nor_the_memory_made_of_it(storage, token):
    class Telling:
        async def summarize(self, rounds, *, earlier="", max_tokens=200):
            return f"Ann's mail is {token}@example.com."

    summariser = RollingSummariser(
        storage.summaries,
        Telling(),
        len,
        redactor=Redactor(placeholder_key=bytes(32)),
        background=False,
        on_commit=remember_summary(storage.memories),
    )
    await summariser.after_turn("ann", "t", talk(5))
    assert re.fullmatch(r"Ann's mail is <EMAIL:[A-Z2-7]{8}>\.", (await storage.summaries.get("ann", "t")).text)
    (memory,) = await storage.memories.latest("ann")
    assert (memory.type, memory.text) == ("conversation_summary", "Ann's mail is <EMAIL>.")


@pytest.mark.slow
async def test_each_commit_replaces_the_memory_of_its_thread(storage):
    summariser = RollingSummariser(
        storage.summaries, Numbers(), len, background=False, on_commit=remember_summary(storage.memories)
    )
    await summariser.after_turn("ann", "t", talk(5))
    await summariser.after_turn("ann", "t", talk(15))
    (memory,) = await storage.memories.latest("ann")
    assert memory.text == "1 2 3 4 5\n6 7 8 9 10\n11 12 13 14 15"
