"""Find a thread's newest checkpoints, and whether a turn that isn't over is going to go on from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from discreet.checkpoint.channels import JOIN, START, is_quiescent
from discreet.errors import ScanError
from discreet.scanning.databases import Row
from discreet.scanning.values import Foreign, decode, decode_typed

TASKS: Final = "__pregel_tasks"
_SENDS_IN_PARENT_BEFORE: Final = 4
"""Checkpoints of older formats find what their step sends among the writes of their parent."""
_DELTA_MARKS: Final = ("counters_since_delta_snapshot", "delta_writes_versioned")

ReadBlob = Callable[[str, str, str], Any]
"""Returns the value of a channel, of a namespace, in a version; None if there is none."""


@dataclass
class Heads:
    """A thread's newest checkpoints."""

    ids: dict[str, str] = field(default_factory=dict)
    """By namespace."""
    versions: set[tuple[str, str, str]] = field(default_factory=set)
    """Values that they have: namespace, channel, version."""
    newest: dict[str, int] = field(default_factory=dict)
    """By namespace, the highest number of a version that they have."""
    parents: set[tuple[str, str]] = field(default_factory=set)
    """Checkpoints whose writes belong to the newest ones of an older format."""
    is_open: bool = False
    """Whether a turn goes on from the root's."""
    is_delta: bool = False
    """Whether values of channels are in the writes of their history."""

    def has_checkpoint(self, ns: str, checkpoint_id: str) -> bool:
        """Return whether a checkpoint is one of these."""
        return self.ids.get(ns) == checkpoint_id

    def is_newer_version(self, ns: str, version: str) -> bool:
        """Return whether a version came after these."""
        return _number_of(version) > self.newest.get(ns, -1)

    def needs_writes(self, ns: str, checkpoint_id: str) -> bool:
        """Return whether the writes of a checkpoint are still needed."""
        return self.is_delta or self.has_checkpoint(ns, checkpoint_id) or (ns, checkpoint_id) in self.parents


def find_heads(rows: Iterable[Row], names: Sequence[str], read_blob: ReadBlob) -> Heads:
    """Return the heads of a thread, given all its rows of `checkpoints` in the order of their keys, of these `names`.

    Raises:
        ScanError: A newest checkpoint can't be read: nobody can tell what goes on from it.
    """
    heads = Heads()
    newest: dict[str, Row] = {}
    place = {name: at for at, name in enumerate(names)}
    for row in rows:
        ns, checkpoint_id = row.key[place["checkpoint_ns"]], row.key[place["checkpoint_id"]]
        if checkpoint_id >= heads.ids.get(ns, ""):
            heads.ids[ns], newest[ns] = checkpoint_id, row
        heads.is_delta = heads.is_delta or _is_delta(row)
    for ns, row in newest.items():
        checkpoint = _checkpoint(row)
        versions = checkpoint.get("channel_versions")
        versions = versions if isinstance(versions, dict) else {}
        heads.versions |= {(ns, str(channel), str(version)) for channel, version in versions.items()}
        heads.newest[ns] = max((_number_of(str(version)) for version in versions.values()), default=-1)
        if int(checkpoint.get("v") or 1) < _SENDS_IN_PARENT_BEFORE and (
            parent := row.values.get("parent_checkpoint_id")
        ):
            heads.parents.add((ns, str(parent)))
        if ns == "":
            heads.is_open = _is_open(checkpoint, versions, lambda channel, version: read_blob("", channel, version))
    return heads


def _is_open(checkpoint: Mapping[str, Any], versions: Mapping[str, Any], read: Callable[[str, str], Any]) -> bool:
    values = checkpoint.get("channel_values")
    armed = dict(values) if isinstance(values, dict) else {}
    for channel, version in versions.items():
        if channel not in armed and (channel in {TASKS, START} or channel.startswith(JOIN)):
            value = read(channel, str(version))
            if value is not None:
                armed[channel] = value
    return not is_quiescent({channel: engine_value(value) for channel, value in armed.items()})


def engine_value(value: Any) -> Any:
    """Return what a trigger holds as the engine knows it: a set is an object within msgpack, a pair is a list."""
    if isinstance(value, Foreign) and isinstance(value.arg, list):
        return {item for item in value.arg if isinstance(item, str)}
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], bool):  # the pair of a deferred node
        return (engine_value(value[0]), value[1])
    return value


def _number_of(version: str) -> int:
    """Return which step a version is of: LangGraph writes `00000000000000000000000000000003.0.41`, or just a number."""
    number = version.partition(".")[0]
    return int(number) if number.isdecimal() else -1


def _checkpoint(row: Row) -> dict[str, Any]:
    stored, kind = row.values.get("checkpoint"), row.values.get("type")
    if stored is None:
        raise ScanError("a checkpoint too large to be read")
    decoded = decode_typed(str(kind), stored) if isinstance(stored, bytes) and kind else decode(stored)
    if not isinstance(decoded.value, dict):
        raise ScanError("no checkpoint")
    return decoded.value


def _is_delta(row: Row) -> bool:
    metadata = row.values.get("metadata")
    text = metadata.decode("utf-8", "replace") if isinstance(metadata, bytes) else metadata or ""
    return any(mark in text for mark in _DELTA_MARKS)
