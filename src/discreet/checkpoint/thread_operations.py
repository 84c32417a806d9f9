"""Delete runs, copy and prune threads with nothing but the interface that every saver has. No I/O: see `Maintenance`.

That interface deletes a thread as a whole only. So what shall stay of it is copied to a spare thread first, then the
thread is deleted, and the copy is put back. Wherever a process dies or a call fails, what shall stay is whole in the
thread or in the spare one; `recover`, and the next deletion or pruning, puts it back. Until then the thread may look
empty.

Meanwhile no other process may move rows, and no turn of the thread should run: what it stores before the thread is
deleted is copied too, but what it stores in that very moment is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Sequence
from typing import Any, NamedTuple, cast
from uuid import uuid4

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    empty_checkpoint,
)

from discreet.checkpoint.channels import mark_of
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare, locate
from discreet.checkpoint.pruning import DELETE, Pruning, Row, as_list, moment

LABEL = CheckpointRef("discreet:spare", "00000000-0000-0000-0000-000000000000")
"""Where a spare thread says what it is. No graph has such a namespace."""
IS_SPARE = {"discreet_spare": "1"}
"""Metadata of every label."""
COPIED_FROM = "discreet_copied_from"
"""Metadata of a label: the thread that the copy is to go back to, once it is whole."""

DELTA_METADATA = "counters_since_delta_snapshot"
"""Metadata of a checkpoint that leans on its ancestors' writes, by which upstream's savers know it."""
DELTA_THREAD = "delta_writes_versioned"
"""Metadata by which they know a thread of LangGraph.js that does."""


class Call(NamedTuple):
    """One call of a saver."""

    method: str
    """Its sync name."""
    args: tuple[Any, ...]
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed


Steps = Generator[Call, Any, None]
"""Calls, each answered with what it returns; `list` with rows."""
Write = tuple[str, Any]
"""A channel and what a task wrote to it."""
Choice = Callable[[Sequence[Row]], list[Row]]
"""Says which rows of a thread shall stay."""


def row(item: CheckpointTuple) -> Row:
    """Return what decides about `item`."""
    metadata = cast("dict[str, Any]", item.metadata)
    thread_id, place = locate(item.config)
    return Row(
        thread_id,
        place,
        locate(item.parent_config)[1].checkpoint_id if item.parent_config else None,
        run_id=metadata.get("run_id"),
        root_id=metadata.get("parents", {}).get(""),
        source=metadata.get("source"),
        unfinished=bool(metadata.get("unfinished")),
        redacted=mark_of(item.checkpoint) is not None,
        made_at=moment(item.checkpoint["ts"]),
        delta=DELTA_METADATA in metadata,
        delta_thread=DELTA_THREAD in metadata,
        writes=len(item.pending_writes or ()),
        copied_from=metadata.get(COPIED_FROM) if place == LABEL else None,
    )


def delete_for_runs(run_ids: Sequence[str]) -> Steps:
    """Delete the checkpoints of these runs."""
    yield from recover()
    runs = set(run_ids)
    found: list[Row] = []
    for run_id in runs:
        found += yield Call("list", (None,), {"filter": {"run_id": run_id}})
    for thread_id in {item.thread_id for item in found}:
        yield from _rewrite(thread_id, lambda rows: [item for item in rows if item.run_id not in runs])


def copy_thread(source: str, target: str) -> Steps:
    """Copy `source` to `target`."""
    rows = yield _listing(source)
    yield from _copy(rows, {item.place for item in rows}, target)


def prune(thread_ids: Sequence[str], pruning: Pruning) -> Steps:
    """Prune these threads."""
    threads = as_list(thread_ids)
    if pruning.strategy == DELETE:
        for thread_id in threads:
            yield Call("delete_thread", (thread_id,))
        return
    yield from recover()
    for thread_id in threads:
        pruning.gone((yield _listing(thread_id)))  # refuses before anything is deleted
    for thread_id in threads:
        yield from _rewrite(thread_id, pruning.staying)


def recover() -> Steps:
    """Put back the copies that are whole, and drop the others: their threads are."""
    labels = yield Call("list", (None,), {"filter": IS_SPARE})
    for label in labels:
        if label.copied_from is None:
            yield Call("delete_thread", (label.thread_id,))
        else:
            yield from _put_back(label.thread_id, label.copied_from)


def _rewrite(thread_id: str, choose: Choice) -> Steps:
    """Delete all rows of a thread but those that `choose` names."""
    rows = yield _listing(thread_id)
    staying = choose(rows)
    if len(staying) == len(rows):
        return
    if not staying:
        yield Call("delete_thread", (thread_id,))
        return
    spare = str(uuid4())
    yield _label(spare)
    copied: set[Row] = set()
    while fresh := set(staying) - copied:  # a turn may have gone on meanwhile
        yield from _copy(fresh, {item.place for item in staying}, spare)
        copied |= fresh
        staying = choose((yield _listing(thread_id)))
    yield _label(spare, thread_id)
    yield Call("delete_thread", (thread_id,))
    yield from _put_back(spare, thread_id)


def _put_back(spare: str, thread_id: str) -> Steps:
    rows = yield _listing(spare)
    kept = [item for item in rows if item.place != LABEL]
    yield from _copy(kept, {item.place for item in kept}, thread_id)
    yield Call("delete_thread", (spare,))


def _label(spare: str, copied_from: str | None = None) -> Call:
    """Say that `spare` is a spare thread, and whose, once the copy is whole."""
    metadata = {**IS_SPARE, COPIED_FROM: copied_from} if copied_from else IS_SPARE
    checkpoint = {**empty_checkpoint(), "id": LABEL.checkpoint_id}
    return Call("put", (bare(spare, LABEL.ns, None), checkpoint, cast("CheckpointMetadata", metadata), {}))


def _listing(thread_id: str) -> Call:
    return Call("list", (bare(thread_id, None, None),))


def _copy(rows: Iterable[Row], staying: Container[CheckpointRef], target: str) -> Steps:
    """Copy `rows`, oldest first. A parent that doesn't stay is no parent. What `target` has stays as it is."""
    for item in sorted(rows, key=lambda item: item.place.checkpoint_id):
        found: CheckpointTuple | None = yield Call("get_tuple", (bare(item.thread_id, *item.place),))
        there: CheckpointTuple | None = yield Call("get_tuple", (bare(target, *item.place),))
        if found is None:
            continue
        if there is None:
            parent = item.parent_id if CheckpointRef(item.place.ns, item.parent_id or "") in staying else None
            versions = found.checkpoint["channel_versions"]
            valued = {name: versions[name] for name in found.checkpoint["channel_values"] if name in versions}
            yield Call("put", (bare(target, item.place.ns, parent), found.checkpoint, found.metadata, valued))
        known = {write[:2] for write in (there and there.pending_writes) or ()}
        for number, (task_id, (named, numbered)) in enumerate(by_task(found.pending_writes or ()).items()):
            # A saver leaves a numbered write that it has, and writes a named one again.
            for part in ([write for write in named if (task_id, write[0]) not in known], numbered):
                if part:
                    # A saver doesn't tell a task's path, only the order of paths.
                    yield Call("put_writes", (bare(target, *item.place), part, task_id, f"{number:06}"))


def by_task(writes: Sequence[PendingWrite]) -> dict[str, tuple[list[Write], list[Write]]]:
    """Return each task's writes in their order: those with a slot of their own, and those that savers number from 0."""
    tasks: dict[str, tuple[list[Write], list[Write]]] = {}
    for task_id, channel, value in writes:
        tasks.setdefault(task_id, ([], []))[channel not in WRITES_IDX_MAP].append((channel, value))
    return tasks
