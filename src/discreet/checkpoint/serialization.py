"""Serialize a paused turn for the spill. No I/O, and never pickle.

A turn holds the message list once for every step, so list items are kept once each and the lists refer to them: 20 steps
on a thread of 500 messages take what one list takes. The rest is msgpack, compressed.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol

from discreet import metrics
from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.messages import Chosen
from discreet.checkpoint.scratch_serializer import FRONT
from discreet.checkpoint.stored_messages import StoredMessages
from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.checkpoint.user_input import UserInput

logger = logging.getLogger(__name__)

FORMAT = 5
COMPRESSION_LEVEL = 1
"""Makes 206 kB of the 749 that a turn of 20 steps on a thread of 500 messages is. Level 6 takes another fifth off in six
times the time."""

Typed = tuple[str, Any]
"""What `dumps_typed` returns."""
Ref = int | list[int]
"""A value: the index of an item, or those of the items of a list."""


def serialize(thread: ThreadScratch, serde: SerializerProtocol, *, upto: str = "") -> bytes:
    """Return all of the open turn: checkpoints and writes of every namespace, and what is known to be stored.

    With `upto`, of the turn that ended with that checkpoint instead.

    Values are read through the thread's own serializer and written plain by `serde`. The thread's id is not part of it.
    Filtered writes that wait for their checkpoint are left out: whoever takes over stores what it can itself.
    """
    items = _Items(thread.saver(serde).serde, serde)
    thread = thread.one_turn(upto)
    turn = thread.turn
    content = {
        "format": FORMAT,
        "known": [
            [*key, items.add_value(stored.shown.copied()), stored.is_changed and items.add_value(stored.rows.copied())]
            for key, stored in _fronts(thread).items()
        ],
        "checkpoints": [
            [ns, checkpoint_id, parent, items.add(checkpoint), items.add(metadata)]
            for ns, checkpoints in turn.storage.get(thread.thread_id, {}).items()
            for checkpoint_id, (checkpoint, metadata, parent) in checkpoints.items()
        ],
        "blobs": [[ns, channel, version, items.add(value)] for (_, ns, channel, version), value in turn.blobs.items()],
        "writes": [
            [ns, checkpoint_id, task_id, index, channel, items.add(value), path]
            for (_, ns, checkpoint_id), rows in turn.writes.items()
            for (task_id, index), (_, channel, value, path) in rows.items()
        ],
        "anchors": [[*place, anchor] for place, anchor in thread.anchors.items()],
        "stored": [[*place, dict(versions)] for place, versions in thread.stored.items()],
        "seeds": [
            [*place, {channel: items.add_value(value) for channel, value in values.items()}]
            for place, values in thread.seeds.items()
        ],
        "paused": _sorted(thread.paused),
        "waits": _sorted(thread.waits),
        "started": _sorted(thread.started),
        "openings": _sorted(thread.openings),
        "said": _bytes(thread.said),
        "ended": _bytes(thread.ended),
        "closed": dict(thread.closed),
        "whole": _sorted(thread.whole),
        "runs": [[*place, run_id] for place, run_id in thread.runs.items()],
        "foreign": _sorted(thread.foreign),
        "foreign_versions": {
            ns: {channel: list(versions) for channel, versions in of.items()}
            for ns, of in thread.foreign_versions.items()
        },
        "came_in": {
            ns: [
                _bytes(came.ids),
                [None if texts is None else _bytes(texts) for texts in came.ids.values()],
                _bytes(came.texts),
                _bytes(came.media),
            ]
            for ns, came in thread.came_in.items()
        },
        "began": [[*key, items.add_value(messages.copied())] for key, messages in thread.began.items()],
        "items": items.typed,
    }
    return zlib.compress(ormsgpack.packb(content), COMPRESSION_LEVEL)


def deserialize(payload: bytes, thread_id: str, serde: SerializerProtocol) -> ThreadScratch | None:
    """Return the turn as one of `thread_id`, which may be another thread than it was frozen from.

    None if it was written by a version of Discreet that lays it out differently: such a turn is lost, not an error.
    """
    content = ormsgpack.unpackb(zlib.decompress(payload))
    if content["format"] != FORMAT:
        metrics.spill_unreadable.labels(cause="format").inc()
        logger.warning("spill_unreadable", extra={"thread_id": thread_id})
        return None
    thread = ThreadScratch(thread_id)
    items = _Restored(content["items"], serde, thread.saver(serde).serde)
    for ns, channel, shown, rows in content["known"]:  # first: what begins with these is then kept without them
        thread.known.note(ns, channel, items.value(shown), items.value(rows) if rows else None)
    turn = thread.turn
    for ns, channel, version, value in content["blobs"]:
        turn.blobs[thread_id, ns, channel, version] = items.typed(value)
    for ns, checkpoint_id, parent, checkpoint, metadata in content["checkpoints"]:
        turn.storage[thread_id][ns][checkpoint_id] = (items.typed(checkpoint), items.typed(metadata), parent)
    for ns, checkpoint_id, task_id, index, channel, value, path in content["writes"]:
        row = (task_id, channel, items.typed(value), path)
        turn.writes[thread_id, ns, checkpoint_id][task_id, index] = row
    thread.anchors = {CheckpointRef(*place): anchor for *place, anchor in content["anchors"]}
    thread.stored = {CheckpointRef(*place): versions for *place, versions in content["stored"]}
    for *place, values in content["seeds"]:
        thread.seeds[CheckpointRef(*place)] = {channel: items.value(value) for channel, value in values.items()}
    thread.said, thread.ended = set(_texts(content["said"])), set(_texts(content["ended"]))
    for name in ("paused", "waits", "started", "openings", "whole", "foreign"):
        getattr(thread, name).update(CheckpointRef(*place) for place in content[name])
    thread.runs = {CheckpointRef(*place): run_id for *place, run_id in content["runs"]}
    for ns, of in content["foreign_versions"].items():
        thread.foreign_versions[ns] = {channel: set(versions) for channel, versions in of.items()}
    for ns, (ids, of_ids, texts, media) in content["came_in"].items():
        thread.came_in[ns] = UserInput(
            dict(zip(_texts(ids), [None if each is None else _texts(each) for each in of_ids], strict=True)),
            set(_texts(texts)),
            set(_texts(media)),
        )
    thread.began = {(ns, channel): Chosen.of(items.value(messages)) for ns, channel, messages in content["began"]}
    thread.closed = content["closed"]
    thread.measure()
    return thread


class _Items:
    """The values of a turn, each once."""

    def __init__(self, reader: SerializerProtocol, writer: SerializerProtocol) -> None:
        self.typed: list[Typed] = []
        self._index: dict[Typed, int] = {}
        self._seen: dict[int, tuple[Any, int]] = {}
        self._reader = reader
        self._writer = writer

    def add(self, typed: Typed) -> Ref:
        if typed[0] == "empty":  # a channel without a value: InMemorySaver's own mark, which no serializer knows
            return self._intern(typed)
        return self.add_value(self._reader.loads_typed(typed))

    def add_value(self, value: Any) -> Ref:
        if type(value) is list:
            return [self._item(item) for item in value]
        return self._intern(self._writer.dumps_typed(value))

    def _item(self, item: Any) -> int:
        """Return the index of `item`. Lists share their items, so most of them were met before."""
        seen = self._seen.get(id(item))
        if seen is None:
            seen = self._seen[id(item)] = (item, self._intern(self._writer.dumps_typed(item)))  # alive: ids are unique
        return seen[1]

    def _intern(self, typed: Typed) -> int:
        typed = (typed[0], bytes(typed[1]))  # of a bytearray a serializer returns the bytearray
        index = self._index.setdefault(typed, len(self.typed))
        if index == len(self.typed):
            self.typed.append(typed)
        return index


class _Restored:
    """The items of a frozen turn, given back as the values that they were."""

    def __init__(self, items: list[list[Any]], reader: SerializerProtocol, writer: SerializerProtocol) -> None:
        self._items: list[Typed] = [(kind, data) for kind, data in items]
        self._loaded: dict[int, Any] = {}
        self._reader = reader
        self._writer = writer

    def typed(self, ref: Ref) -> Typed:
        """Return a value as the thread's own serializer writes it."""
        if not isinstance(ref, list) and self._items[ref][0] == "empty":
            return self._items[ref]
        return self._writer.dumps_typed(self.value(ref))

    def value(self, ref: Ref) -> Any:
        """Return a value. Lists share their items, as they did."""
        return [self._load(index) for index in ref] if isinstance(ref, list) else self._load(ref)

    def _load(self, index: int) -> Any:
        if index not in self._loaded:
            self._loaded[index] = self._reader.loads_typed(self._items[index])
        return self._loaded[index]


def _fronts(thread: ThreadScratch) -> Mapping[tuple[str, str], StoredMessages]:
    """Return the stored messages that lists of the open turn begin with, by namespace and channel."""
    blobs: Any = thread.turn.blobs  # said to hold bytes alone
    return {(ns, channel): value.stored for (_, ns, channel, _), (kind, value) in blobs.items() if kind == FRONT}


def _bytes(texts: Iterable[str]) -> list[bytes]:
    """Return texts as bytes: what users send may have lone surrogates, which msgpack doesn't."""
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def _texts(written: Iterable[bytes]) -> list[str]:
    return [text.decode("utf-8", "surrogatepass") for text in written]


def _sorted(places: Iterable[CheckpointRef]) -> list[list[str]]:
    return [list(place) for place in sorted(places)]
