"""One thread of the scratch tier: its open turn, whole, and what is known to be stored of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    writes_sort_key,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT

from discreet.checkpoint.channels import CONTROL, NO_TASK
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare
from discreet.checkpoint.messages import Chosen
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.run_input import Run
from discreet.checkpoint.scratch_serializer import ScratchSerializer
from discreet.checkpoint.spill import Version
from discreet.checkpoint.stored_messages import KnownMessages
from discreet.checkpoint.user_input import Read, UserInput
from discreet.checkpoint.values import MOST_BITS, as_json, is_too_big


class TaskWrites(NamedTuple):
    """One call of `put_writes`."""

    config: RunnableConfig
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str


@dataclass
class ThreadScratch:
    """One thread: its open turn, and what is known to be stored of it."""

    thread_id: str
    turn: InMemorySaver = field(default_factory=InMemorySaver)
    """Checkpoints and writes of the open turn, as LangGraph gave them."""
    anchors: dict[CheckpointRef, str | None] = field(default_factory=dict)
    """The nearest checkpoint of the durable tier: itself, an ancestor, or None."""
    stored: dict[CheckpointRef, ChannelVersions] = field(default_factory=dict)
    """Of a checkpoint in the durable tier: which channels have a value there, and their version."""
    overtaken: dict[CheckpointRef, list[TaskWrites]] = field(default_factory=dict)
    """Filtered writes whose checkpoint is not stored yet."""
    paused: set[CheckpointRef] = field(default_factory=set)
    """Places where a task asked a question before the checkpoint came."""
    asked: dict[CheckpointRef, Sequence[tuple[str, Any]]] = field(default_factory=dict)
    """Places where a task asked a question while the checkpoint was being stored, and what it wrote."""
    waits: set[CheckpointRef] = field(default_factory=set)
    """Ends of runs whose last calls had no result. It may come, and the turn is open until then."""
    answering: CheckpointRef | None = None
    """Which of them the run goes on from that is under way, if results of its calls are all that it brings."""
    started: set[CheckpointRef] = field(default_factory=set)
    """Stored checkpoints of a turn that another process began, and this one takes over."""
    alone: set[CheckpointRef] = field(default_factory=set)
    """Checkpoints that LangGraph saved alone of a turn, as it does with durability "exit"."""
    openings: set[CheckpointRef] = field(default_factory=set)
    """Checkpoints of a graph's input: from them only its start runs."""
    runs: dict[CheckpointRef, str] = field(default_factory=dict)
    """Which run made a checkpoint of the open turn."""
    said: set[str] = field(default_factory=set)
    """What the model said in the open turn, and in turns before it that never ended."""
    ended: set[str] = field(default_factory=set)
    """What the model said in turns that have ended and could not be stored."""
    begun: set[CheckpointRef] = field(default_factory=set)
    """Checkpoints that runs went on from."""
    unfinished: set[CheckpointRef] = field(default_factory=set)
    """Stored checkpoints of the middle of a turn that isn't here: of what was about to run there, nothing is left."""
    whole: set[CheckpointRef] = field(default_factory=set)
    """Stored checkpoints of which nothing had to be dropped."""
    came_in: dict[str, UserInput] = field(default_factory=dict)
    """What callers handed over since a run began, by namespace. A namespace that is not here was not seen to begin."""
    read: dict[str, Read] = field(default_factory=dict)
    """What a run began with, by namespace."""
    began: dict[tuple[str, str], Chosen] = field(default_factory=dict)
    """The stored messages of a namespace and channel as the open turn began."""
    foreign: set[CheckpointRef] = field(default_factory=set)
    """Checkpoints that another saver stored."""
    foreign_versions: dict[str, dict[str, set[Any]]] = field(default_factory=dict)
    """Versions, by namespace and channel, under which another saver has stored values."""
    answer_by: str = ""
    """Until when the question could be answered at which a stored turn paused."""
    run: Run | None = None
    """The run that went on from it last."""
    refused: bool = False
    """Whether the run that is under way has brought an answer to a question that isn't here. Nothing of it is kept."""
    seeds: dict[CheckpointRef, dict[str, Any]] = field(default_factory=dict)
    """Values of delta channels at checkpoints of the durable tier."""
    policies: tuple[CheckpointPolicy, CheckpointPolicy] | None = None
    """The saver's, and the same for this thread."""
    values: dict[str, str] = field(default_factory=dict, repr=False)
    """What the placeholders of the open turn and of the thread before it stand for, as far as this saver knows."""
    held: set[str] = field(default_factory=set)
    """Those of them that the vault has."""
    known: KnownMessages = field(default_factory=KnownMessages)
    """Messages that are stored, and what has been rebuilt of the others."""
    spilled: Version | None = None
    """Which version of the paused turn was last written to, or read from, the spill."""
    ends: list[str] = field(default_factory=list)
    """The checkpoints that closed the turns which are kept, oldest first."""
    closed: dict[str, str] = field(default_factory=dict)
    """The checkpoint that closed the last turn, by namespace."""
    touched: float = math.inf
    """When it was last changed; infinite while it is being changed for the first time."""
    bytes: int = 0
    """Its size when it was last changed."""
    written: int = 0
    """Bytes of the open turn. What was written over counts until the turn is over."""

    def __getattr__(self, name: str) -> Any:
        """Return what `shed` has dropped, made anew."""
        if name not in _MADE:
            raise AttributeError(name)
        value = self.__dict__[name] = _MADE[name]()
        return value

    def shed(self) -> None:
        """Drop what is empty, if no turn is here: threads whose turn is over are many, and twenty empty sets are 5 kB."""
        there = self.__dict__
        if "turn" in there and not (self.turn.storage or self.turn.writes or self.turn.blobs):
            del there["turn"]
        if "turn" in there:
            return
        if "known" in there and not self.known.ids:
            del there["known"]
        for name in [name for name in _MADE if name in there and name not in {"turn", "known"} and not there[name]]:
            del there[name]

    def saver(self, serde: SerializerProtocol) -> InMemorySaver:
        """Return the open turn, to be read and written through `serde` while the thread is held."""
        self._through(serde)
        return self.turn

    def holds(self, place: CheckpointRef) -> bool:
        """Return whether this checkpoint is here: of the open turn, or of one that is over and kept."""
        return place.checkpoint_id in self.turn.storage.get(self.thread_id, {}).get(place.ns, {})

    def head(self, ns: str, *, ended: bool = False) -> str | None:
        """Return the newest checkpoint in `ns` of the open turn, or, if `ended`, of turns that are over and kept too."""
        newest = max(self.turn.storage.get(self.thread_id, {}).get(ns, {}), default="")
        # A namespace with a task's id is of one turn alone.
        over = "" if ended or ":" in ns else max(self.closed.get(ns, ""), self.closed.get("", ""))
        return newest if newest > over else None

    def open_ids(self, ns: str) -> list[str]:
        """Return the checkpoints of the open turn in `ns`, oldest first."""
        over = self.closed.get(ns, "")
        return sorted(each for each in self.turn.storage.get(self.thread_id, {}).get(ns, {}) if each > over)

    def bytes_of(self, ns: str, channel: str, version: Any) -> int:
        """Return the size of a value, without stored messages at its front."""
        return len(self.turn.blobs.get((self.thread_id, ns, channel, version), ("", b""))[1])

    def is_open(self, place: CheckpointRef) -> bool:
        """Return whether the open turn has this checkpoint."""
        return self.holds(place) and place.checkpoint_id > self.closed.get("", "")

    def get(self, place: CheckpointRef, serde: SerializerProtocol) -> CheckpointTuple | None:
        """Return a checkpoint of the open turn."""
        return self.saver(serde).get_tuple(bare(self.thread_id, *place)) if self.holds(place) else None

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, serde: SerializerProtocol
    ) -> None:
        """Keep `checkpoint`. Which versions are new is relative to the open turn, not to LangGraph's last put."""
        where = {"checkpoint_ns": "", **_serializable(config["configurable"]), "thread_id": self.thread_id}
        new_versions = {
            channel: version
            for channel, version in checkpoint["channel_versions"].items()
            if (self.thread_id, where["checkpoint_ns"], channel, version) not in self.turn.blobs
        }
        whole: RunnableConfig = {
            **config,
            "configurable": where,
            "metadata": _serializable(config.get("metadata") or {}),
        }
        counting = self._through(serde)
        self.turn.put(whole, checkpoint, metadata, new_versions)
        self.written += counting.written

    def parent(self, place: CheckpointRef) -> CheckpointRef | None:
        """Return the parent of a checkpoint of the open turn."""
        _, _, parent = self.turn.storage[self.thread_id][place.ns][place.checkpoint_id]
        return CheckpointRef(place.ns, parent) if parent else None

    def put_writes(
        self,
        place: CheckpointRef,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
        serde: SerializerProtocol,
    ) -> None:
        """Keep a task's writes."""
        counting = self._through(serde)
        self.turn.put_writes(bare(self.thread_id, *place), writes, task_id, task_path)
        self.written += counting.written

    def writes(self, place: CheckpointRef, serde: SerializerProtocol) -> list[PendingWrite]:
        """Return the writes at `place`, in the order that LangGraph applies them."""
        rows = self.turn.writes.get((self.thread_id, *place), {})
        ordered = [rows[key] for key in sorted(rows, key=lambda key: writes_sort_key(rows[key][3], *key))]
        load = ScratchSerializer(serde, self.known).loads_typed
        return [(task_id, channel, load(value)) for task_id, channel, value, _ in ordered]

    def paths(self, place: CheckpointRef) -> dict[str, str]:
        """Return the path of each task that has written at `place`, by its id."""
        return {row[0]: row[3] for row in self.turn.writes.get((self.thread_id, *place), {}).values()}

    def asks(self, place: CheckpointRef) -> bool:
        """Return whether a task at `place` has asked a question."""
        return any(
            channel == INTERRUPT for _, channel, _, _ in self.turn.writes.get((self.thread_id, *place), {}).values()
        )

    def is_waiting(self, place: CheckpointRef) -> bool:
        """Return whether a person, or a client's tool, has to answer before the turn goes on from `place`."""
        return place in self.waits or self.asks(place)

    def has_output(self, place: CheckpointRef) -> bool:
        """Return whether a task at `place` has written something else than what happened to it."""
        rows = self.turn.writes.get((self.thread_id, *place), {})
        return any(channel not in CONTROL and task_id != NO_TASK for task_id, channel, _, _ in rows.values())

    def has_inside(self, place: CheckpointRef) -> bool:
        """Return whether a subgraph has done something since `place` was saved."""
        spaces = self.turn.storage.get(self.thread_id, {})
        return any(max(ids, default="") > place.checkpoint_id for ns, ids in spaces.items() if ns != place.ns)

    def bound(self, policy: CheckpointPolicy) -> CheckpointPolicy:
        """Return `policy` for what is stored of this thread."""
        given, bound = self.policies or (None, policy)
        if given is not policy or (bound.values is not None and bound.values is not self.values):  # which `shed` drops
            bound = policy.for_thread(self.thread_id, self.values)
            self.policies = (policy, bound)
        return bound

    def input_of(self, ns: str) -> UserInput | None:
        """Return what callers handed over for `ns`; None if its run was not seen to begin, so that nothing is known."""
        return self.came_in.get(ns)

    def before(self, ns: str, channels: Iterable[str]) -> dict[str, Chosen]:
        """Return the stored messages of each channel as the open turn began."""
        return {channel: self.began.get((ns, channel)) or self.known.stored(ns, channel) for channel in channels}

    def name_new(self, ns: str, channel: str, ids: Sequence[str | None]) -> None:
        """Give the messages with which the open turn began the ids that LangGraph has given those of its input."""
        began = self.began.get((ns, channel))
        if began and 0 < len(ids) <= len(began):
            self.began[ns, channel] = Chosen(began, [*began.ids[: -len(ids)], *ids], began.texts, began.forms)

    def is_foreign(self, place: CheckpointRef) -> bool:
        """Return whether another saver stored `place`."""
        return place in self.foreign

    def note_foreign(self, place: CheckpointRef, versions: ChannelVersions) -> None:
        """Note that another saver stored `place`, with what these versions name."""
        self.foreign.add(place)
        there = self.foreign_versions.setdefault(place.ns, {})
        for channel, version in versions.items():
            there.setdefault(channel, set()).add(version)

    def note_stored(self, place: CheckpointRef, versions: ChannelVersions) -> None:
        """Note that the durable tier has `place`, with a value for the channels of `versions`."""
        self.anchors[place] = place.checkpoint_id
        self.stored[place] = versions

    def note_seeds(self, place: CheckpointRef, seeds: dict[str, Any]) -> None:
        """Note the values of delta channels at a checkpoint of the durable tier."""
        self.seeds.pop(place, None)
        if seeds:
            self.seeds[place] = seeds

    def close(self, place: CheckpointRef, keep: int = 0) -> None:
        """End the turn with `place`: all of it with the root's, else the one of that namespace. Keep the last `keep` turns."""
        self.closed[place.ns] = place.checkpoint_id
        if place.ns == "":
            for ended in self._of_open_turn():
                ended.clear()
            if keep:
                self.ends.append(place.checkpoint_id)
                self._drop_upto(self.ends.pop(0) if len(self.ends) > keep else "")
            else:
                self._forget_all()
        elif not keep:
            self.turn.storage[self.thread_id].pop(place.ns, None)
            for written in [key for key in self.turn.writes if key[1] == place.ns]:
                del self.turn.writes[written]
            for blob in [key for key in self.turn.blobs if key[1] == place.ns]:
                del self.turn.blobs[blob]
        self.measure()

    def one_turn(self, ended: str = "") -> ThreadScratch:
        """Return the open turn by itself, or the one that ended with the checkpoint `ended`. Values are shared."""
        before = [end for end in self.ends if not ended or end < ended]
        if not before and not ended:
            return self
        copied = self.copied(self.thread_id)
        copied.came_in = self.came_in
        copied._drop_upto(before[-1] if before else "")  # noqa: SLF001  # of its own class
        if ended:
            for checkpoints in copied.turn.storage[self.thread_id].values():
                for later in [checkpoint_id for checkpoint_id in checkpoints if checkpoint_id > ended]:
                    del checkpoints[later]
        return copied

    def add_ended(self, turn: ThreadScratch, ended: str) -> None:
        """Take in a turn that ended with the checkpoint `ended`."""
        for ns, checkpoints in turn.turn.storage.get(self.thread_id, {}).items():
            self.turn.storage[self.thread_id][ns].update(checkpoints)
        self.turn.writes.update(turn.turn.writes)
        self.turn.blobs.update(turn.turn.blobs)
        for mine, theirs in zip(self._of_places(), turn._of_places(), strict=True):  # of its own class
            mine.update(theirs)  # type: ignore[arg-type]  # of the same kind each
        self.known.ids.update(turn.known.ids)
        self.ends = sorted({*self.ends, ended})
        self.closed[""] = max(self.closed.get("", ""), ended)
        self.measure()

    def _of_open_turn(self) -> list[Any]:
        """Return what says something of the open turn alone."""
        return [
            *(self.overtaken, self.paused, self.asked, self.waits, self.alone, self.begun, self.unfinished),
            *(self.said, self.ended, self.read, self.began, self.values, self.held),
        ]

    def _of_places(self) -> list[set[CheckpointRef] | dict[CheckpointRef, Any]]:
        """Return what says something of single checkpoints."""
        return [
            *(self.anchors, self.stored, self.started, self.openings, self.runs, self.whole, self.foreign, self.seeds)
        ]

    def _forget_all(self) -> None:
        self.turn = InMemorySaver()
        for of_places in self._of_places():
            of_places.clear()
        self.ends.clear()
        self.came_in.clear()
        self.foreign_versions.clear()
        self.known = KnownMessages()
        self.policies = None

    def _drop_upto(self, oldest: str) -> None:
        """Drop the turns that ended with the checkpoint `oldest` or before."""
        turn = self.turn
        for ns, checkpoints in turn.storage.get(self.thread_id, {}).items():
            for old in [checkpoint_id for checkpoint_id in checkpoints if checkpoint_id <= oldest]:
                del checkpoints[old]
                turn.writes.pop((self.thread_id, ns, old), None)
        for of_places in self._of_places():
            for place in [place for place in of_places if place.checkpoint_id <= oldest]:
                of_places.pop(place) if isinstance(of_places, dict) else of_places.discard(place)
        if oldest and turn.storage.get(self.thread_id):
            used = {
                (self.thread_id, ns, *version)
                for ns, checkpoints in turn.storage[self.thread_id].items()
                for checkpoint, _, _ in checkpoints.values()
                for version in turn.serde.loads_typed(checkpoint)["channel_versions"].items()
            }
            for blob in turn.blobs.keys() - used:
                del turn.blobs[blob]

    def size(self) -> int:
        """Return its size in bytes."""
        return self.written + self.known.size()

    def measure(self) -> None:
        """Take the size of the open turn anew."""
        turn = self.turn
        rows = (row for spaces in turn.storage.values() for space in spaces.values() for row in space.values())
        self.written = (
            sum(len(blob) for _, blob in turn.blobs.values())
            + sum(len(checkpoint[1]) + len(metadata[1]) for checkpoint, metadata, _ in rows)
            + sum(len(value[1]) for writes in turn.writes.values() for _, _, value, _ in writes.values())
        )

    def copied(self, target: str) -> ThreadScratch:
        """Return the same turn as another thread's."""
        turn = InMemorySaver()
        for ns, checkpoints in self.turn.storage.get(self.thread_id, {}).items():
            turn.storage[target][ns] = dict(checkpoints)
        turn.writes.update({(target, *key[1:]): dict(writes) for key, writes in self.turn.writes.items()})
        turn.blobs.update({(target, *key[1:]): blob for key, blob in self.turn.blobs.items()})
        return replace(
            self,
            thread_id=target,
            turn=turn,
            anchors=dict(self.anchors),
            stored=dict(self.stored),
            overtaken={},
            paused=set(self.paused),
            asked={},
            waits=set(self.waits),
            answering=None,
            started=set(self.started),
            alone=set(self.alone),
            openings=set(self.openings),
            runs=dict(self.runs),
            said=set(self.said),
            ended=set(self.ended),
            begun=set(self.begun),
            unfinished=set(self.unfinished),
            whole=set(self.whole),
            came_in={},
            read={},
            began=dict(self.began),
            foreign=set(self.foreign),
            foreign_versions={ns: {c: set(v) for c, v in of.items()} for ns, of in self.foreign_versions.items()},
            answer_by="",
            refused=False,
            values=dict(self.values),
            held=set(),
            seeds=dict(self.seeds),
            known=self.known.copied(),
            ends=list(self.ends),
            closed=dict(self.closed),
            policies=None,
            spilled=None,
            touched=math.inf,
            bytes=0,
        )

    def is_stored(self, ns: str) -> bool:
        """Return whether something of the open turn in `ns` is stored."""
        return any(CheckpointRef(ns, each) in self.stored for each in self.open_ids(ns))

    def forget(self, place: CheckpointRef) -> None:
        """Drop a checkpoint of the open turn, if it is here, with its writes."""
        self.openings.discard(place)
        if self.holds(place):
            self._remove([place])

    def forget_runs(self, run_ids: set[str]) -> None:
        """Drop the checkpoints that these runs made, and their writes."""
        self._remove([place for place, run_id in self.runs.items() if run_id in run_ids and self.holds(place)])

    def keep_heads(self) -> None:
        """Drop all checkpoints but the newest of each namespace."""
        spaces = self.turn.storage.get(self.thread_id, {})
        self._remove(CheckpointRef(ns, old) for ns, checkpoints in spaces.items() for old in sorted(checkpoints)[:-1])

    def _through(self, serde: SerializerProtocol) -> ScratchSerializer:
        serializer = self.turn.serde = ScratchSerializer(serde, self.known)
        return serializer

    def _remove(self, places: Iterable[CheckpointRef]) -> None:
        for place in places:
            del self.turn.storage[self.thread_id][place.ns][place.checkpoint_id]
            self.turn.writes.pop((self.thread_id, *place), None)
        self.measure()
        # What was known to be stored may be gone from the durable tier too: it is looked up again.
        self.anchors.clear()
        self.stored.clear()
        self.seeds.clear()


def _serializable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of a config with numbers as text that a serializer can't write. LangGraph leaves out all else that it can't."""
    written = {
        key: as_json(value) for key, value in values.items() if is_too_big(value) and value.bit_length() <= MOST_BITS
    }
    return {key: written.get(key, value) for key, value in values.items() if key in written or not is_too_big(value)}


_MADE: dict[str, Callable[[], Any]] = {
    each.name: each.default_factory for each in fields(ThreadScratch) if each.default_factory is not MISSING
}
"""What makes the empty value of a field."""
