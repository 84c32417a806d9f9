"""Store a checkpoint, its messages as rows. No I/O: statements go out, what they returned comes back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeGuard, TypeVar, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from psycopg.types.json import Json, Jsonb

from discreet.access.user_keys import UserKeys, default_user_keys
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare, locate
from discreet.checkpoint.kept_tools import tools_of
from discreet.checkpoint.messages import Chosen
from discreet.checkpoint.postgres.deletions import delete_threads, last_deletion
from discreet.checkpoint.postgres.message_rows import (
    MESSAGE_ROWS,
    NO_ROWS,
    NewName,
    NewRow,
    Rows,
    note_names,
    plan_rows,
    take_rows,
)
from discreet.checkpoint.postgres.names import OWN_SCHEMA
from discreet.checkpoint.postgres.row_cache import RowCache
from discreet.checkpoint.postgres.statements import INSERT_WRITES, IS_SHARED, PUT, READ_ROWS, UPSERT_WRITES, Statement
from discreet.checkpoint.postgres.threads import ADOPT, ALWAYS, NEVER, mark_of
from discreet.errors import CheckpointError, LeakBlockedError, ThreadDeletedError
from discreet.shown_keys import shown_key

MESSAGE_CHANNELS = ("messages",)
"""Where LangGraph's `MessagesState` has them."""

ATTEMPTS = 50
"""Of a put that others overtake. Each takes a few milliseconds, and each time one of them has got through."""

R = TypeVar("R")

Steps = Generator[Statement, Sequence[dict[str, Any]] | None, R]
"""Statements to run in turn. Each is answered with its rows, or None if a row of its was taken by another's."""

SINCE = "__discreet_since"
"""In the config of a put: the last deletion of the thread that its run knows of. LangGraph stores no such key."""

OWNER = "__discreet_owner"
"""In the config of a put: the user of its run."""


class Loaded(CheckpointTuple):
    """A checkpoint that was read."""

    deleted_at: datetime | None = None
    """When its thread was last deleted, if that is not long ago."""
    read_at: datetime | None = None
    """By the database's clock."""
    paths: Mapping[str, str] = MappingProxyType({})
    """Where each task that has written at it stands in its step, by its id."""


class MessageRows:
    """Reads and writes the message channels of one tier."""

    def __init__(
        self,
        channels: Sequence[str],
        keys: Callable[[], UserKeys] = default_user_keys,
        tools: Collection[str] = (),
    ) -> None:
        """`tools`: those whose calls and results may be stored."""
        self.channels = tuple(channels)
        self._tools = frozenset(tools)
        self._keys = keys
        self.cache = RowCache()
        self.shared: bool | None = None
        """Whether other savers may use these tables, so that they have to find messages where they store them themselves: in
        a blob that holds the whole conversation. None until the database was asked."""

    def load(
        self,
        item: CheckpointTuple,
        rows: Mapping[str, Rows],
        deleted_at: datetime | None,
        read_at: datetime,
        paths: Mapping[str, str],
    ) -> Loaded:
        """Add messages to a checkpoint that was read, and remember where they are."""
        loaded = Loaded(*item)
        loaded.deleted_at, loaded.read_at, loaded.paths = deleted_at, read_at, paths
        for channel, found in rows.items():
            loaded.checkpoint["channel_values"][channel] = list(found.messages)
        thread_id, place = locate(loaded.config)
        self.cache.note(thread_id, place, rows)
        return loaded

    def put(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Steps[RunnableConfig]:
        """Store `checkpoint`; may be repeated.

        Its messages are looked for among the rows of its parent. Should their number be taken, by another branch of the
        thread or another process, or the parent be gone, the database is asked what is there.

        Raises:
            CheckpointError: Others were faster, again and again.
            ThreadDeletedError: The thread was deleted after this began.
        """
        thread_id, parent = locate(config)
        place = CheckpointRef(parent.ns, checkpoint["id"])
        where = {
            "thread_id": thread_id,
            "checkpoint_ns": place.ns,
            "checkpoint_id": place.checkpoint_id,
            "base": parent.checkpoint_id or None,
        }
        since = config["configurable"].get(SINCE, ALWAYS)
        owner = self._keys().of(config["configurable"].get(OWNER), thread_id)
        stored_metadata = Jsonb(get_serializable_checkpoint_metadata(config, metadata))
        source: str | None = parent.checkpoint_id or None
        known = self.cache.get(thread_id, parent) if source else {}
        if self.shared is None:
            self.shared = bool(
                ((yield Statement(IS_SHARED, {"schema": OWN_SCHEMA}, returns=True)) or [{}])[0]["shared"]
            )
        for _ in range(ATTEMPTS):
            if known is None:
                answer = yield Statement(READ_ROWS, {**where, "channels": list(self.channels)}, returns=True)
                source, known = self._learn(answer)
            kept, new, named = self._plan(checkpoint["channel_values"], known)
            reuses = len(new) < sum(len(rows.messages) for rows in kept.values())
            params = {
                **where,
                "since": since,
                "user_key": owner,
                "source": source if reuses else None,
                "metadata": stored_metadata,
                **self._checkpoint_columns(checkpoint, kept),
                **self._blob_columns(serde, checkpoint, kept, new_versions),
                "messages": Json([row._asdict() for row in new]),
                "named": Json([row._asdict() for row in named]),
            }
            if is_allowed(answer := (yield Statement(PUT, params, returns=True))) and answer[0]["stored"]:
                note_names(known, named)
                self.cache.put(thread_id, place, kept)
                if answer[0]["is_new"] or answer[0]["was_nobodys"]:  # none that an erasure had to find
                    yield from _check_erased(thread_id, owner, since)
                yield from self._adopt(thread_id, owner, answer[0]["owner"])
                return bare(thread_id, *place)
            known = None
        raise CheckpointError(
            "A checkpoint was not stored: other processes were storing in the same thread. Try again."
        )

    def _adopt(self, thread_id: str, user_key: UUID, found: UUID | None) -> Steps[None]:
        """Give the thread to a user, if it was `found` to be its own."""
        thread_key = self._keys().of_thread(thread_id)
        if user_key != thread_key and found == (of_thread := shown_key(thread_key)):
            yield Statement(ADOPT, {"thread_id": thread_id, "user_key": user_key, "of_thread": of_thread})

    def put_writes(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> Steps[None]:
        """Store a task's writes, all or none; may be repeated.

        Raises:
            ThreadDeletedError: Their checkpoint is gone with its thread.
        """
        thread_id, place = locate(config)
        slots = {channel: WRITES_IDX_MAP.get(channel) for channel, _ in writes}
        named = None not in slots.values()
        numbered = [(WRITES_IDX_MAP.get(channel, idx), channel, value) for idx, (channel, value) in enumerate(writes)]
        # A statement can't write a row twice: of two writes to a slot the last one counts.
        rows = list({row[0]: row for row in numbered}.values()) if named else numbered
        params = {
            "thread_id": thread_id,
            "checkpoint_ns": place.ns,
            "base": place.checkpoint_id,
            "since": ALWAYS,
            "user_key": self._keys().of_thread(thread_id),
            "task_id": task_id,
            "task_path": task_path,
            **_columns(
                ("idxs", "channels", "types", "blobs"),
                [(idx, channel, *serde.dumps_typed(value)) for idx, channel, value in rows],
            ),
        }
        statement = Statement(UPSERT_WRITES if named else INSERT_WRITES, params, returns=True)
        while rows and not is_allowed((yield statement)):
            pass  # a deletion was committed meanwhile, and the next attempt sees its tombstone

    def _plan(
        self, values: Mapping[str, Any], known: Mapping[str, Rows]
    ) -> tuple[dict[str, Rows], list[NewRow], list[NewName]]:
        kept: dict[str, Rows] = {}
        new: list[NewRow] = []
        named: list[NewName] = []
        for channel in self.channels if not self.shared else ():
            if planned := plan_rows(channel, values.get(channel), known.get(channel, NO_ROWS)):
                # What is stored already stays, though the policy names its tool no longer.
                if any(row.tool and not tools_of(f"{row.kind}:{row.tool}") <= self._tools for row in planned.new):
                    raise LeakBlockedError("A call or result of a tool that no policy names was about to be written.")
                kept[channel] = planned.rows
                new += planned.new
                named += planned.named
        return kept, new, named

    def _learn(self, answer: Sequence[dict[str, Any]] | None) -> tuple[str | None, dict[str, Rows]]:
        """Return which checkpoint `READ_ROWS` found, if any, and its rows, with the highest positions of the thread."""
        row = (answer or [{}])[0]
        source = cast("str | None", row["checkpoint_id"])
        found = take_rows(row) if source else {}
        tops = zip(self.channels, row["tops"], strict=True)
        return source, {
            channel: rows._replace(top=max(top, rows.top))
            for channel, top in tops
            for rows in [found.get(channel, NO_ROWS)]
        }

    def _checkpoint_columns(self, checkpoint: Checkpoint, kept: Mapping[str, Rows]) -> dict[str, Any]:
        stored: dict[str, Any] = {**checkpoint}
        stored["channel_values"] = {
            channel: True if isinstance(value, _DeltaSnapshot) else value  # its mark; the value is a blob
            for channel, value in checkpoint["channel_values"].items()
            if channel not in kept and (_is_inline(value) or isinstance(value, _DeltaSnapshot))
        }
        if kept:
            stored[MESSAGE_ROWS] = [(channel, *run) for channel, rows in kept.items() for run in rows.runs]
        return {"checkpoint": Jsonb(stored)}

    def _blob_columns(
        self,
        serde: SerializerProtocol,
        checkpoint: Checkpoint,
        kept: Mapping[str, Rows],
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Return what else is new. A message channel that was rows before may not be called new, but has no blob yet."""
        versions = {
            **{channel: checkpoint["channel_versions"].get(channel) for channel in self.channels},
            **new_versions,
        }
        blobs = [
            (
                channel,
                str(versions[channel]),
                *serde.dumps_typed(value.copied() if isinstance(value, Chosen) else value),
            )
            for channel, value in checkpoint["channel_values"].items()
            if channel not in kept and not _is_inline(value) and versions.get(channel) is not None
        ]
        return _columns(("blob_channels", "blob_versions", "blob_types", "blobs"), blobs)


def _check_erased(thread_id: str, owner: UUID, since: str) -> Steps[None]:
    """Take a thread back that was just begun, if its user was erased since its run began.

    Raises:
        ThreadDeletedError: They were.
    """
    if since == ALWAYS:
        return
    [erased_at] = [row["deleted_at"] for row in (yield last_deletion(mark_of(owner))) or ()] or [None]
    if erased_at is not None and (since == NEVER or erased_at > datetime.fromisoformat(since)):
        yield from delete_threads([thread_id])
        raise ThreadDeletedError(erased_at)


def is_allowed(answer: Sequence[dict[str, Any]] | None) -> TypeGuard[Sequence[dict[str, Any]]]:
    """Return whether a statement with `FENCE` was let through; if not, a deletion came in between: try again.

    Raises:
        ThreadDeletedError: It was not, and will not be.
    """
    if not answer:
        return False
    if not answer[0]["allowed"] and answer[0]["deleted_at"] is not None:
        raise ThreadDeletedError(answer[0]["deleted_at"])
    return bool(answer[0]["allowed"])


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any] | None]:
    """Return `rows` as one array a column. Of no rows it is NULL, which `unnest` takes alike and the driver for nothing."""
    return {name: [row[index] for row in rows] or None for index, name in enumerate(names)}


def _is_inline(value: object) -> bool:
    """Return whether LangGraph keeps `value` in the checkpoint itself."""
    return value is None or isinstance(value, (str, int, float, bool))
