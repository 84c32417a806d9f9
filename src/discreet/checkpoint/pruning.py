"""Which checkpoints of a thread go when it is pruned. Pure, over the rows of any saver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.state.ids import check_thread_id

KEEP_LATEST = "keep_latest"
"""Upstream's name for pruning a thread to its newest checkpoints."""
DELETE = "delete"
"""Upstream's name for pruning a thread to nothing."""


class Row(NamedTuple):
    """What decides about a checkpoint. Its values are not read."""

    thread_id: str
    place: CheckpointRef
    parent_id: str | None
    run_id: str | None = None
    root_id: str | None = None
    """The root graph's checkpoint that a subgraph's was made from."""
    source: str | None = None
    """What LangGraph made it of: `input`, `loop`, `update` or `fork`."""
    unfinished: bool = False
    """Whether its turn paused there."""
    redacted: bool = False
    """Whether one of our savers wrote it: it holds all its values, and nothing raw."""
    made_at: datetime | None = None
    delta: bool = False
    """Whether the value of a delta channel is in its ancestors' writes, unless one of our savers wrote it."""
    delta_thread: bool = False
    """Whether that is so for all of its thread: LangGraph.js says so where a thread begins."""
    sends_in_parent: bool = False
    """Whether it was made by a LangGraph that left what a step sends to the next one at its parent."""
    writes: int = 0
    copied_from: str | None = None
    """See `thread_operations.COPIED_FROM`."""


def moment(text: str) -> datetime | None:
    """Return the time that a checkpoint says it was made at; None if it doesn't."""
    try:
        made_at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return made_at if made_at.tzinfo else made_at.replace(tzinfo=UTC)


def as_list(thread_ids: Sequence[str]) -> list[str]:
    """Return thread ids, each once.

    Raises:
        TypeError: It is one id, which would be taken letter by letter.
        InvalidThreadError: One of them can't be used.
    """
    if isinstance(thread_ids, str):
        raise TypeError("prune takes a list of thread ids, not one.")
    return list(dict.fromkeys(map(check_thread_id, thread_ids)))


def is_root(ns: str) -> bool:
    """Return whether `ns` is the graph itself."""
    return ns == ""


@dataclass(frozen=True, kw_only=True)
class Pruning:
    """What stays of a thread. The newest checkpoint of the root graph always does."""

    strategy: str = KEEP_LATEST
    turns: int | None = None
    """The newest turns of the root graph, whole."""
    before: datetime | None = None
    """What is older goes."""
    keeps: Callable[[str], bool] = is_root
    """Which namespaces are stored at all. What is below others is left from a stock saver."""

    def __post_init__(self) -> None:
        if self.strategy not in (KEEP_LATEST, DELETE):
            raise ValueError(f"There is no prune strategy {self.strategy!r}. Choose {KEEP_LATEST!r} or {DELETE!r}.")
        if self.strategy == DELETE and (self.turns, self.before) != (None, None):
            raise ValueError(f"{DELETE!r} leaves nothing: give turns and before with {KEEP_LATEST!r}.")
        if self.turns is not None and self.turns < 1:
            raise ValueError(f"At least one turn stays, so turns can't be {self.turns}.")
        if self.before is not None and self.before.tzinfo is None:
            raise ValueError("before needs a time zone, as datetime.now(UTC) has.")

    def gone(self, rows: Sequence[Row]) -> list[Row]:
        """Return which of a thread's rows go.

        Raises:
            NotImplementedError: One that would stay has a DeltaChannel, and its value is in others that would go.
        """
        staying = self.staying(rows)
        places = {item.place for item in staying}
        gone = [item for item in rows if item.place not in places]
        parents = {item.place: item.parent_id for item in rows}
        delta_thread = any(item.delta_thread for item in rows)
        lost = {item.place for item in gone}
        for item in staying:
            if not item.redacted and (item.delta or delta_thread) and lost.intersection(_ancestors(item, parents)):
                raise NotImplementedError(
                    "A thread with a DeltaChannel can't be pruned before a turn of it has ended under this saver: "
                    "the channel's value is its history."
                )
        return gone

    def staying(self, rows: Sequence[Row]) -> list[Row]:
        """Return which of a thread's rows stay."""
        ordered = sorted(rows, key=lambda item: item.place.checkpoint_id)
        roots = [item for item in ordered if is_root(item.place.ns)]
        head = roots[-1] if roots else None
        kept = {item.place.checkpoint_id for item in self._of_roots(roots)}
        gone = {item.place.checkpoint_id for item in roots} - kept
        heads = {item.place.ns: item for item in ordered}

        def stays(item: Row) -> bool:
            ns = item.place.ns
            if is_root(ns):
                return item.place.checkpoint_id in kept
            if head is not None and head.redacted and not self.keeps(ns):
                return False
            if item.root_id in kept and (self.turns, self.before) != (None, None):
                return True
            return item is heads[ns] and not (":" in ns and item.root_id in gone)

        staying = [item for item in ordered if stays(item)]
        of_old = {CheckpointRef(item.place.ns, item.parent_id or "") for item in staying if item.sends_in_parent}
        return [item for item in ordered if item in staying or item.place in of_old] if of_old else staying

    def _of_roots(self, roots: Sequence[Row]) -> list[Row]:
        kept = roots[-1:] if (self.turns, self.before) == (None, None) else roots
        if self.turns is not None:
            begins = list(_begins(roots))[-self.turns :]
            kept = roots[begins[0] :] if begins else roots
        if self.before is not None:
            kept = [item for item in kept if item is roots[-1] or not _is_older(item, self.before)]
        return list(kept)


def _begins(roots: Sequence[Row]) -> Iterator[int]:
    """Yield where turns begin: at inputs, and at the only checkpoint of a turn, as durability "exit" saves it."""
    inputs = any(item.source == "input" for item in roots)
    previous: Row | None = None
    for index, item in enumerate(roots):
        ended = previous is None or (
            previous.source == "loop" and not previous.unfinished and (previous.redacted or not inputs)
        )
        if item.source == "input" or (item.source == "loop" and ended):
            yield index
        if item.source in ("input", "loop"):
            previous = item


def _is_older(item: Row, before: datetime) -> bool:
    return item.made_at is not None and item.made_at < before


def _ancestors(item: Row, parents: dict[CheckpointRef, str | None]) -> Iterator[CheckpointRef]:
    place = CheckpointRef(item.place.ns, item.parent_id or "")
    while place in parents:
        yield place
        place = CheckpointRef(place.ns, parents[place] or "")
