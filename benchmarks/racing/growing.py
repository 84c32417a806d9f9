"""How ours grows: with the number of people, and with what one person said."""

from __future__ import annotations

from comparing.report import Figure, Group
from racing import measures
from racing.contestant import Race, settle
from racing.figures import FLAT
from racing.meeting import MEMORIES, Meeting, meeting, progress
from racing.ours import Ours
from racing.people import Question, make_person, make_questions

MILLION = 1_000_000
LARGE = (1_000, 5_000, 20_000, 70_000)
"""Memories of one person."""
LARGE_DIMS = 512


async def million(met: Meeting, repetitions: int) -> list[Figure]:
    """Let there be a million rows in our tables, copies of those that are there, and time the first people's searches."""
    before = await _ours(met, repetitions)
    times = MILLION // (met.loaded * MEMORIES)
    progress(f"{met.dims} dims: {times} times as many people")
    dsn = met.databases[Ours.tables].dsn
    await Ours().multiply(dsn, met.people[: met.loaded], times)
    await settle(dsn)
    after = await _ours(met, repetitions)
    rows = met.loaded * MEMORIES
    group = Group(f"Growth from {rows:,} to {rows * times:,} rows, ours alone: {met.dims} dims")
    group.ratio(f"p50, {rows:,} rows", "ms", before, after, at_most=FLAT)
    return group.figures


async def large_people(admin_dsn: str, repetitions: int, *, quick: bool) -> list[Figure]:
    """Time the searches of people who said much, each compared with who said `MEMORIES` things."""
    sizes = LARGE[:2] if quick else LARGE
    group = Group(f"People with many memories, ours alone: {LARGE_DIMS} dims")
    with meeting(admin_dsn, dims=LARGE_DIMS, users=0, only=[Ours.tables]) as met:
        people = [make_person(number, memories=size, dims=LARGE_DIMS) for number, size in enumerate(sizes)]
        dsn = met.databases[Ours.tables].dsn
        for person in people:
            progress(f"{LARGE_DIMS} dims: loading {len(person.texts):,} memories of one person")
            await Ours().load(dsn, [person], LARGE_DIMS)
        await settle(dsn)
        questions = [make_questions(person, 5, met.embeddings) for person in people]
        async with met.open() as races:
            medians = [await _latency(races, asked, repetitions) for asked in questions]
            found = [(await measures.recall(races, asked))[Ours.name] for asked in questions]
    for size, taken, recall in zip(sizes, medians, found, strict=True):
        group.ratio(f"p50, {MEMORIES:,} -> {size:,}, recall@5 {recall:.2f}", "ms", medians[0], taken)
    return group.figures


async def _ours(met: Meeting, repetitions: int) -> list[float]:
    async with met.open() as races:
        ours = {Ours.name: races[Ours.name]}
        return (await measures.latency(ours, met.questions, repetitions))[Ours.name]


async def _latency(races: dict[str, Race], asked: list[Question], repetitions: int) -> list[float]:
    return (await measures.latency(races, asked, repetitions))[Ours.name]
