"""Know tables by their columns: whose they are, which column names the thread, which ones hold what an engine made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

CHECKPOINTS, BLOBS, WRITES = "checkpoints", "channel values", "task writes"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What is known of a kind of table."""

    label: str
    """What it is, for a report."""
    needs: frozenset[str] = frozenset()
    """Columns that a table of this kind has. Of several kinds that fit the first counts."""
    thread: str | None = None
    """The column that names the thread."""
    engine: frozenset[str] = frozenset()
    """Columns whose values the engine makes: versions, places, ids of tasks. Nothing is looked for in them."""
    typed: tuple[str, ...] = ()
    """Columns of bytes that the column `type` tells the serializer of."""
    channel: str | None = None
    """The column that names the channel of a value."""
    told: frozenset[str] = frozenset()
    """Of `engine`, those that are read nevertheless, for what they say of others."""

    is_server: bool = False
    """Whether it is of a server of LangGraph's, whose `messages` are copies of those of threads."""

    def reads(self, column: str) -> bool:
        """Return whether a column is read: to be looked through, or for what it says of another."""
        return column not in self.engine or column in self.told


_ENGINE: Final = frozenset(
    {"version", "checkpoint_id", "parent_checkpoint_id", "task_id", "task_path", "type", "idx", "user_key"}
)

KNOWN: Final = (
    Profile(
        label=CHECKPOINTS,
        needs=frozenset({"thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint", "metadata"}),
        thread="thread_id",
        engine=_ENGINE,
        typed=("checkpoint",),
        told=frozenset({"type", "parent_checkpoint_id"}),
    ),
    Profile(
        label=WRITES,
        needs=frozenset({"thread_id", "checkpoint_id", "task_id", "idx", "channel", "type"}),
        thread="thread_id",
        engine=_ENGINE,
        typed=("blob", "value"),
        told=frozenset({"type"}),
        channel="channel",
    ),
    Profile(
        label=BLOBS,
        needs=frozenset({"thread_id", "channel", "type", "blob"}),
        thread="thread_id",
        engine=_ENGINE,
        typed=("blob",),
        told=frozenset({"type"}),
        channel="channel",
    ),
    Profile(
        label="messages of the checkpointer",
        needs=frozenset({"thread_id", "channel", "position", "content"}),
        thread="thread_id",
        engine=_ENGINE,
    ),
    Profile(
        label="sealed turns",
        needs=frozenset({"thread_id", "ended", "sealed"}),
        thread="thread_id",
        engine=frozenset({"ended", "head", "sealed"}),
    ),
    Profile(label="store", needs=frozenset({"prefix", "key", "value"})),
    Profile(label="vectors of the store", needs=frozenset({"prefix", "key", "field_name", "embedding"})),
    Profile(label="runs of a server", is_server=True, needs=frozenset({"run_id", "thread_id"}), thread="thread_id"),
    Profile(
        label="threads of a server", is_server=True, needs=frozenset({"thread_id", "metadata"}), thread="thread_id"
    ),
    Profile(label="of a server", is_server=True, needs=frozenset({"assistant_id"})),
    Profile(label="of a server", is_server=True, needs=frozenset({"cron_id"})),
    Profile(label="of a server", is_server=True, needs=frozenset({"run_id"})),
    Profile(label="of a thread", is_server=True, needs=frozenset({"thread_id"}), thread="thread_id"),
    Profile(label="messages of sessions", needs=frozenset({"session_id", "message_data"}), thread="session_id"),
    Profile(label="messages of sessions", needs=frozenset({"session_id", "message"}), thread="session_id"),
    Profile(label="sessions", needs=frozenset({"session_id"}), thread="session_id"),
    Profile(label="memories with vectors", needs=frozenset({"payload", "vector"})),
    Profile(label="memories with vectors", needs=frozenset({"cmetadata", "document"})),
)

VERSIONS: Final = frozenset({"v"})
"""Columns of the tables in which LangGraph notes which version its tables have. Nobody needs to hear of these."""
OURS: Final = Profile(label="Discreet", engine=frozenset({"user_key", "thread_key", "memory_key", "space_key"}))
"""Tables of the schema `discreet`."""
ANY: Final = Profile(label="with vectors")
"""A table that has vectors, which are of texts."""
OTHER: Final = Profile(label="other")
"""A table of which nothing is known."""


def profile_of(columns: Collection[str], *, schema: str, has_vectors: bool) -> Profile | None:
    """Return what is known of a table with these columns; None if it has nothing to do with agents, as far as one can see."""
    if schema == "discreet":
        return OURS
    names = frozenset(columns)
    known = next((each for each in KNOWN if each.needs <= names), None)
    return known or (ANY if has_vectors else None)
