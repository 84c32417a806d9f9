"""Scan and scrub planted databases, and look at what was found, what is left, and whether threads go on."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from kit.places import Places
from kit.search import Words, search

from discreet.checkpoint import CheckpointPolicy, RedactingSaver
from discreet.redaction import Redactor
from discreet.redaction.findings import Finding
from discreet.scanning import Scanner, ScanOptions, ScanReport, open_database
from discreet.scanning.databases.pickle_files import PickleFiles
from discreet.scanning.scrubbing import Scrubber, ScrubOptions, ScrubReport
from discreet.scanning.scrubbing.change_log import ChangeLog
from testkit.planting.checking import words_of
from testkit.planting.manifest import Entry, Harmless, Planted, Thread
from testkit.planting.postgres import opened_saver
from testkit.planting.registry import SCENARIOS, continue_thread

COUNTED = frozenset({"base64_file", "secret_str"})
"""Shapes that are counted as what they are, and not searched."""

IN_IDS = frozenset({"thread_id", "session_id", "store_key", "store_namespace"})
"""Shapes of values that stand in keys of rows, which stay."""


class Span(NamedTuple):
    """What was found, and where."""

    type: str
    value: str
    text: str
    start: int
    end: int


class RecordingRedactor(Redactor):
    """A redactor that remembers what it found."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: set[Span] = set()

    def findings(self, text: str) -> list[Finding]:
        """Return what there is, and remember it."""
        found = super().findings(text)
        self.spans |= {Span(each.type, text[each.start : each.end], text, each.start, each.end) for each in found}
        return found


def scan(
    where: object, *, redactor: Redactor | None = None, folder: Path | None = None, resume: bool = False, **options: Any
) -> ScanReport:
    """Scan a database."""
    database = open_database(str(where))
    try:
        scanner = Scanner(database, redactor or Redactor(), options=ScanOptions(**options))
        return scanner.scan(folder=folder, resume=resume)
    finally:
        database.close()


def scrub(
    where: object,
    *,
    dry_run: bool = False,
    log: Path | None = None,
    folder: Path | None = None,
    resume: bool = False,
    **options: Any,
) -> ScrubReport:
    """Scrub a database."""
    database = open_database(str(where), writes=not dry_run)
    assert not isinstance(database, PickleFiles)
    changes = ChangeLog(log) if log else None
    try:
        scrubber = Scrubber(database, Redactor(), options=ScrubOptions(**options), dry_run=dry_run, log=changes)
        return scrubber.scrub(folder=folder, resume=resume)
    finally:
        database.close()
        if changes:
            changes.close()


def counts(report: ScanReport) -> Any:
    """Return all that a report says of what is stored, and nothing of times."""
    return report.model_dump(exclude={"started_at", "finished_at", "seconds"})


def values_of(entries: Iterable[Entry]) -> list[Planted]:
    """Return the values of a manifest that can be read without a key."""
    return [entry for entry in entries if isinstance(entry, Planted) and not entry.encrypted]


def threads_of(entries: Iterable[Entry]) -> list[Thread]:
    """Return the threads of a manifest."""
    return [entry for entry in entries if isinstance(entry, Thread)]


def missed(entries: Iterable[Entry], spans: Iterable[Span]) -> list[Planted]:
    """Return the values of which less than four fifths was found as what they are."""
    by_type: dict[str, set[str]] = {}
    for span in spans:
        by_type.setdefault(span.type, set()).add(span.value)
    joined = {name: "\0".join(found) for name, found in by_type.items()}
    return [
        entry
        for entry in values_of(entries)
        if entry.shape not in COUNTED
        and entry.value not in by_type.get(entry.type, ())
        and entry.value not in joined.get(entry.type, "")
        and not any(len(one) >= 0.8 * len(entry.value) and one in entry.value for one in by_type.get(entry.type, ()))
    ]


def misreported(entries: Iterable[Entry], spans: Iterable[Span]) -> list[tuple[str, str]]:
    """Return what was found within harmless texts."""
    harmless = [entry.text for entry in entries if isinstance(entry, Harmless)]
    wrong: list[tuple[str, str]] = []
    for span in set(spans):
        for text in harmless:
            at = span.text.find(text)
            if 0 <= at <= span.start and span.end <= at + len(text):
                wrong.append((span.type, text))
    return wrong


def leaks(text: str, entries: Iterable[Entry]) -> list[str]:
    """Return the shapes of the planted values, and the graphs of threads whose ids, are in a text."""
    secret = {
        f"{entry.shape} {number}" if isinstance(entry, Planted) else f"{entry.graph} {number}": (
            entry.value if isinstance(entry, Planted) else entry.thread_id
        )
        for number, entry in enumerate(entries)
        if not isinstance(entry, Harmless)
    }
    return sorted(Words(values=secret).within(text))


def left_in(entries: Iterable[Entry], places: Places) -> dict[tuple[str, str], int]:
    """Return how many values are in raw rows that must not be, by shape and table."""
    values = values_of(entries)
    found = search(places, words_of(values)).leaks
    left = Counter(
        (values[int(name)].shape, place.removeprefix("table ")) for name, where in found.items() for place in where
    )
    return {(shape, place): many for (shape, place), many in left.items() if shape not in IN_IDS}


def policy_of(thread: Thread, **policy: Any) -> CheckpointPolicy:
    """Return a policy that a thread's graph can be stored with."""
    if thread.graph == "deltas":
        policy["deltas"] = {"messages": SCENARIOS["deltas"].graph.channels["messages"]}
    return CheckpointPolicy(**policy)


async def failures(dsn: str, threads: Iterable[Thread], *, ours: bool = False) -> dict[tuple[str, str], str]:
    """Go on with threads by a stock saver, or by ours; return what failed, by graph and state."""
    failed: dict[tuple[str, str], str] = {}
    by_saver: dict[str, list[Thread]] = {}
    for thread in threads:
        by_saver.setdefault(thread.saver, []).append(thread)
    for kind, of_saver in by_saver.items():
        async with opened_saver(dsn, kind) as stock:
            for thread in of_saver:
                saver: Any = stock
                if ours:
                    saver = RedactingSaver(stock, policy=policy_of(thread))
                    await saver.setup()
                try:
                    await continue_thread(thread.graph, saver, thread.thread_id)
                except Exception as error:  # noqa: BLE001  # whatever a graph or a saver raises is what is looked for
                    failed[thread.graph, thread.state] = "".join(traceback.format_exception(error)[-4:])
    return failed
