"""The measurements. Contestants take turns, so that all see the same machine."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import TypeVar

from racing.contestant import Race
from racing.people import Lookup, Question, make_person

Races = Mapping[str, Race]
"""By name."""
Values = dict[str, list[float]]
"""By contestant, one value a repetition."""

Item = TypeVar("Item")

BATCHES = (100, 1_000)
"""Memories that are saved in one call."""
KNOWN = (200, 1_000)
"""Memories that there are of whoever says one more."""
WRITERS = 16
"""Clients that say the same at once."""
SAID_AT_ONCE = 5
"""Facts that each of them says."""

_people = count(1_000_000)


async def latency(races: Races, questions: Sequence[Question], repetitions: int) -> Values:
    """Return the median milliseconds of a search. Each contestant asks all questions in a row, and once before it counts."""
    medians: Values = {name: [] for name in races}
    for number in range(repetitions + 1):
        for name, race in races.items():
            taken = [await _milliseconds(race.search(asked.user_id, asked.text)) for asked in questions]
            if number:
                medians[name].append(statistics.median(taken))
    return medians


async def recall(races: Races, questions: Sequence[Question]) -> dict[str, float]:
    """Return which part of the five nearest memories is found, by vectors alone."""
    found: dict[str, float] = {}
    for name, race in races.items():
        hits = [len(asked.nearest & set(await race.search(asked.user_id, asked.wordless))) for asked in questions]
        found[name] = sum(hits) / sum(len(asked.nearest) for asked in questions)
    return found


async def throughput(
    races: Races, questions: Sequence[Question], *, clients: int, seconds: float, repetitions: int
) -> Values:
    """Return searches a second of `clients` clients that ask one question after another."""
    rates: Values = {name: [] for name in races}
    for _ in range(repetitions):
        for name, race in races.items():
            started = time.perf_counter()
            done = await asyncio.gather(
                *(
                    _ask_for(race, [*questions[client:], *questions[:client]], started + seconds)
                    for client in range(clients)
                )
            )
            rates[name].append(sum(done) / (time.perf_counter() - started))
    return rates


async def saving(races: Races, embeddings: Lookup, batches: int, size: int) -> Values:
    """Return memories a second that are stored in batches of `size`, all texts new."""
    batch_of = [_new_texts(embeddings, size) for _ in range(batches + 1)]
    taken = await _take_turns(races, [[batch] for batch in batch_of], lambda race, batch: race.save(*batch))
    return {name: [1e3 * size / ms for ms in values[1:]] for name, values in taken.items()}


async def processor(
    races: Races, questions: Sequence[Question], repetitions: int, server: Callable[[], float]
) -> Values:
    """Return the milliseconds of processor time that a search takes here and on the server, whose seconds `server` tells."""
    taken: Values = {name: [] for name in races}
    for _ in range(repetitions):
        for name, race in races.items():
            began = server() + time.process_time()  # in this order: asking for the server's takes time here
            for asked in questions:
                await race.search(asked.user_id, asked.text)
            taken[name].append(1e3 * (time.process_time() + server() - began) / len(questions))
    return taken


async def remembering(races: Races, embeddings: Lookup, known: int, repetitions: int) -> Values:
    """Return the median milliseconds of storing one fact of a person of whom `known` are stored; every second one is one of these."""
    user_id, texts = _new_texts(embeddings, known)
    for race in races.values():
        await race.save(user_id, texts)
    rounds = []
    for number in range(repetitions):
        _, new = _new_texts(embeddings, 10)
        rounds.append([text for pair in zip(new, texts[number * 10 :], strict=False) for text in pair])
    return await _take_turns(races, rounds, lambda race, text: race.remember(user_id, text))


async def rows_of_a_crowd(races: Races, embeddings: Lookup) -> dict[str, float]:
    """Return how many memories there are when `WRITERS` clients have said the same `SAID_AT_ONCE` facts at once."""
    user_id, texts = _new_texts(embeddings, SAID_AT_ONCE)
    rows: dict[str, float] = {}
    for name, race in races.items():
        await asyncio.gather(*(race.remember(user_id, text) for _ in range(WRITERS) for text in texts))
        rows[name] = await race.count(user_id)
    return rows


async def _take_turns(
    races: Races, rounds: Sequence[Sequence[Item]], do: Callable[[Race, Item], Awaitable[object]]
) -> Values:
    """Return, for each round, the median milliseconds that a contestant takes for an item."""
    medians: Values = {name: [] for name in races}
    for items in rounds:
        taken: Values = {name: [] for name in races}
        for item in items:
            for name, race in races.items():
                taken[name].append(await _milliseconds(do(race, item)))
        for name, values in taken.items():
            medians[name].append(statistics.median(values))
    return medians


async def _milliseconds(work: Awaitable[object]) -> float:
    started = time.perf_counter()
    await work
    return 1e3 * (time.perf_counter() - started)


async def _ask_for(race: Race, questions: Sequence[Question], until: float) -> int:
    done = 0
    while time.perf_counter() < until:
        asked = questions[done % len(questions)]
        await race.search(asked.user_id, asked.text)
        done += 1
    return done


def _new_texts(embeddings: Lookup, number: int) -> tuple[str, list[str]]:
    """Return a new user and texts that nobody said, whose vectors `embeddings` then knows."""
    person = make_person(next(_people), memories=number, dims=embeddings.dims)
    embeddings.add(person.texts, person.vectors)
    return person.user_id, person.texts
