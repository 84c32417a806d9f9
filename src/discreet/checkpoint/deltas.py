"""Rebuild what a graph's delta channels hold: LangGraph stores their writes, of which the durable tier gets a part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, DeltaChannelHistory, PendingWrite
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from discreet.checkpoint.channels import mark_of
from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.errors import CheckpointError


class Deltas:
    """The delta channels that a policy declares."""

    def __init__(self, policy: CheckpointPolicy, serde: SerializerProtocol) -> None:
        self._declared = policy.deltas
        self._serde = serde

    def resolve(
        self, thread: ThreadScratch, parent: CheckpointRef, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> Checkpoint:
        """Return `checkpoint` with a plain value for each delta channel, rebuilt from the writes in the scratch tier.

        Raises:
            CheckpointError: The graph has a delta channel that the policy does not declare.
        """
        values = checkpoint["channel_values"]
        counted = set(metadata.get("counters_since_delta_snapshot") or {})
        snapshots = {channel for channel, value in values.items() if isinstance(value, _DeltaSnapshot)}
        if undeclared := sorted((counted | snapshots) - self._declared.keys()):
            raise CheckpointError(
                f"The graph has DeltaChannels that the policy does not know: {', '.join(undeclared)}. Their value is made "
                "of writes that are not all stored. Declare each: CheckpointPolicy(deltas={name: DeltaChannel(…)})."
            )
        rebuilt: dict[str, Any] = {}
        for channel, spec in self._declared.items():
            if channel in snapshots:
                rebuilt[channel] = values[channel].value
            elif channel not in values and channel in checkpoint["channel_versions"]:
                rebuilt[channel] = self._replay(thread, parent, channel, spec)
        return {**checkpoint, "channel_values": {**values, **rebuilt}} if rebuilt else checkpoint

    def seeds(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """Return the delta channels' values in a checkpoint of the durable tier."""
        values = checkpoint["channel_values"]
        return {channel: values[channel] for channel in self._declared if channel in values}

    def unseeded(self, checkpoint: Checkpoint) -> list[str]:
        """Return the delta channels whose value another saver left in the ancestors of `checkpoint`."""
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        foreign = self._declared if mark_of(checkpoint) is None else ()
        return [channel for channel in foreign if channel not in values and channel in versions]

    def seeds_of(self, history: Mapping[str, DeltaChannelHistory]) -> dict[str, Any]:
        """Return the values that a saver's history of delta channels makes."""
        values: dict[str, Any] = {}
        for channel, found in history.items():
            spec = self._declared[channel]
            made = spec.from_checkpoint(found["seed"] if "seed" in found else spec.checkpoint())
            made.replay_writes(found["writes"])
            values[channel] = made.get()
        return values

    def _replay(self, thread: ThreadScratch, parent: CheckpointRef, channel: str, spec: DeltaChannel[Any]) -> Any:
        """Apply the writes of the open turn to the nearest value there is, as LangGraph's own walk does."""
        writes: list[PendingWrite] = []
        found: list[Any] = []
        place: CheckpointRef | None = parent
        while place is not None and place.checkpoint_id and not found:
            writes[:0] = [write for write in thread.writes(place, self._serde) if write[1] == channel]
            held = thread.get(place, self._serde)
            values = held.checkpoint["channel_values"] if held else {}
            if held is None or thread.is_foreign(place):  # what is stored of a turn of ours may lack what it holds
                values = {**values, **thread.seeds.get(place, {})}
            found = [values[channel]] if channel in values else []
            place = thread.parent(place) if held else None
        made = spec.from_checkpoint(found[0] if found else spec.checkpoint())
        made.replay_writes(writes)
        return made.get()
