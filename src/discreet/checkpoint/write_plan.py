"""What `tiers` decides, for the savers to carry out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata


class DurablePut(NamedTuple):
    """Arguments of the durable tier's `put`."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions


class Whole(NamedTuple):
    """A checkpoint as LangGraph gave it."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata


class Stored(NamedTuple):
    """What the durable tier gets of a checkpoint."""

    checkpoint: Checkpoint
    unfinished: bool = False
    """Whether it is a part of the middle of a turn, from which no node starts."""
    asked: bool = False
    """Whether it waits for an answer, or for the results of calls, which reach it while its turn is in RAM or in the spill."""
    whole: bool = False
    """Whether a run could go on from it as from the original."""
    waiting: Mapping[str, Any] | None = None
    """Which nodes wait for an answer, see `waiting_in`."""


class Held(NamedTuple):
    """Values for the vault."""

    values: dict[str, str]
    """Those that are new, by tagged placeholder."""
    seconds: float | None
    """How long all of the thread live from now on; None: the vault's own time."""

    def __repr__(self) -> str:
        return f"Held({len(self.values)} values)"


class PutPlan(NamedTuple):
    """What to do with one checkpoint."""

    config: RunnableConfig
    """What `put` returns."""
    durable: DurablePut | None = None
    """What to store; None if it stays in RAM."""
    closing: Whole | None = None
    """The checkpoint, if the run is over once this is stored. Until then it is nowhere else."""
    waits: bool = False
    """Whether its last calls have no result yet, so that the turn is not over: the client may send one."""

    @property
    def closes(self) -> bool:
        """Whether the turn is over once this is stored."""
        return self.closing is not None and not self.waits
