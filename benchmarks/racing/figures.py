"""The figures of one meeting, with the ratios that are to hold."""

from __future__ import annotations

from statistics import median

from comparing.report import Figure, Group
from racing import measures
from racing.contestant import Race
from racing.floor import KERNELS, ROUND_TRIP, SEARCH, floor
from racing.langgraph_store import LangGraphStore, LangMem
from racing.measures import Values
from racing.meeting import ASKED, MEMORIES, Meeting, progress
from racing.mem0_backend import Mem0
from racing.ours import OurRace, Ours

from discreet.redaction.configured import default_redactor

CLIENTS = 16

TIMES_FASTER = {1536: 3.5, 512: 4.5}
"""Hybrid search against the vector search of AsyncPostgresStore, by dims."""
TIMES_LESS_PROCESSOR = 3.5
TIMES_FASTER_THAN_MEM0 = 20
TIMES_MORE_SEARCHES = 6
TIMES_FASTER_BATCHES, TIMES_FASTER_REDACTED = 12, 8
TIMES_FASTER_FACTS = {200: 3.5, 1_000: 2.5}
"""By how many are known."""
ROOM = 1 / 3
"""Of AsyncPostgresStore's."""
TIMES_THE_FLOOR = 3
FLAT = 1.25
"""Growth of a search's time with ten times the people that still counts as none on a shared machine."""

STORE = LangGraphStore.name
REDACTING = "discreet with its redactor"


async def measure(meeting: Meeting, *, repetitions: int, seconds: float) -> list[Figure]:
    """Load a tenth of the people and time searches; load the others and measure everything."""
    few = max(ASKED, len(meeting.people) // 10)
    await meeting.load(few)
    async with meeting.open() as races:
        early = await measures.latency(races, meeting.questions, repetitions)
    await meeting.load(len(meeting.people))
    redacting = Ours(default_redactor())
    redacting.name = REDACTING
    groups = [_room(meeting)]
    async with meeting.open(redacting) as races:
        whole = races.pop(REDACTING)
        progress(f"{meeting.dims} dims: one search after another")
        late = await measures.latency(races, meeting.questions, repetitions)
        groups.append(await _searches(meeting, races, late))
        groups.append(await _processor(meeting, races, repetitions))
        if few < meeting.loaded:
            groups.append(_growth(meeting, early, late, few))
        groups.append(await _many_clients(meeting, races, repetitions, seconds))
        groups.append(await _floor(meeting, races, repetitions))
        groups.append(_graphs(meeting))
        groups.append(await _writes(meeting, races, whole, repetitions))
    return [figure for group in groups for figure in group.figures]


def _title(what: str, meeting: Meeting) -> str:
    return f"{what}: {meeting.dims} dims, {meeting.loaded} people, {MEMORIES:,} memories each"


def _room(meeting: Meeting) -> Group:
    kilobytes = meeting.kilobytes()
    group = Group(_title("Room", meeting))
    for peer, at_most in ((LangGraphStore, ROOM), (Mem0, None)):
        if peer.tables in kilobytes:
            group.ratio(
                f"a memory: {peer.name}",
                "kB",
                [kilobytes[peer.tables]],
                [kilobytes[Ours.tables]],
                at_most=at_most,
                peer=peer.name,
            )
    return group


async def _searches(meeting: Meeting, races: dict[str, Race], taken: Values) -> Group:
    recall = await measures.recall(
        {name: race for name, race in races.items() if name != LangMem.name}, meeting.questions
    )
    targets = {STORE: 1 / TIMES_FASTER[meeting.dims]} if meeting.dims in TIMES_FASTER else {}
    targets[Mem0.name] = 1 / TIMES_FASTER_THAN_MEM0
    group = Group(_title("Top 5", meeting))
    _against_each(group, "p50", "ms", taken, targets)
    for name, found in recall.items():
        if name != Ours.name:
            group.ratio(f"recall@5 by vectors: {name}", "found", [found], [recall[Ours.name]], peer=name)
    return group


async def _processor(meeting: Meeting, races: dict[str, Race], repetitions: int) -> Group:
    taken = await measures.processor(races, meeting.questions, repetitions, meeting.server_seconds)
    group = Group(_title("Processor time of a search, client and server", meeting))
    _against_each(group, "mean", "ms", taken, {STORE: 1 / TIMES_LESS_PROCESSOR})
    return group


def _growth(meeting: Meeting, early: Values, late: Values, few: int) -> Group:
    group = Group(_title(f"Growth from {few} people", meeting))
    for name in late:
        if name != Ours.name:
            grown = [[median(late[each]) / median(early[each])] for each in (name, Ours.name)]
            group.figure(f"p50, late/early: {name}", "times", *grown, at_most=FLAT, peer=name)
    return group


async def _many_clients(meeting: Meeting, races: dict[str, Race], repetitions: int, seconds: float) -> Group:
    progress(f"{meeting.dims} dims: {CLIENTS} clients")
    asynchronous = {name: race for name, race in races.items() if name != Mem0.name}
    rates = await measures.throughput(
        asynchronous, meeting.questions, clients=CLIENTS, seconds=seconds, repetitions=repetitions
    )
    group = Group(_title(f"{CLIENTS} clients", meeting))
    for name in asynchronous:
        if name != Ours.name:
            at_least = TIMES_MORE_SEARCHES if name == STORE else None
            group.ratio(f"searches: {name}", "a second", rates[name], rates[Ours.name], at_least=at_least, peer=name)
    return group


async def _floor(meeting: Meeting, races: dict[str, Race], repetitions: int) -> Group:
    ours = races[Ours.name]
    assert isinstance(ours, OurRace)
    taken = await floor(ours, meeting.questions, meeting.embeddings, repetitions)
    group = Group(_title("Floor", meeting))
    group.ratio(ROUND_TRIP, "ms", taken[ROUND_TRIP], taken[SEARCH])
    group.ratio(KERNELS, "ms", taken[KERNELS], taken[SEARCH], at_most=TIMES_THE_FLOOR)
    return group


def _graphs(meeting: Meeting) -> Group:
    """Tell whether the peers' searches went by their HNSW index: that is the planner's choice, by size."""
    group = Group(_title("Reads of an HNSW index so far", meeting))
    scans = meeting.graph_scans()
    for peer in (LangGraphStore, Mem0):
        if peer.tables in scans:
            group.figure(f"reads: {peer.name}", "", [scans[peer.tables]], [scans[Ours.tables]], peer=peer.name)
    return group


async def _writes(meeting: Meeting, races: dict[str, Race], redacting: Race, repetitions: int) -> Group:
    writers = {name: race for name, race in races.items() if name != LangMem.name}
    group = Group(_title("Writing", meeting))
    for size in measures.BATCHES:
        progress(f"{meeting.dims} dims: saving {size}")
        rates = await measures.saving({**writers, REDACTING: redacting}, meeting.embeddings, repetitions, size)
        for name in writers:
            if name != Ours.name:
                what, unit = f"batches of {size}: {name}", "a second"
                group.ratio(what, unit, rates[name], rates[Ours.name], at_least=TIMES_FASTER_BATCHES, peer=name)
                what = f"batches of {size}, ours with redaction: {name}"
                group.ratio(what, unit, rates[name], rates[REDACTING], at_least=TIMES_FASTER_REDACTED, peer=name)
    for known in measures.KNOWN:
        progress(f"{meeting.dims} dims: a fact beside {known}")
        taken = await measures.remembering(writers, meeting.embeddings, known, repetitions)
        targets = dict.fromkeys(writers, 1 / TIMES_FASTER_FACTS[known])
        _against_each(group, f"a fact, if it is new, beside {known}", "ms", taken, targets)
    crowd = await measures.rows_of_a_crowd(
        {name: race for name, race in writers.items() if name != Mem0.name}, meeting.embeddings
    )
    group.figure(
        f"rows of {measures.SAID_AT_ONCE} facts said {measures.WRITERS} times at once: {STORE}",
        "rows",
        [crowd[STORE]],
        [crowd[Ours.name]],
        at_most=measures.SAID_AT_ONCE,
        peer=STORE,
    )
    return group


def _against_each(group: Group, what: str, unit: str, taken: Values, targets: dict[str, float]) -> None:
    for name, values in taken.items():
        if name != Ours.name:
            group.ratio(f"{what}: {name}", unit, values, taken[Ours.name], at_most=targets.get(name), peer=name)
