"""Every column that holds sealed values, beside the plain one that holds them where there is no key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, LiteralString
from uuid import UUID

import ormsgpack

from discreet.encryption import Column


@dataclass(frozen=True)
class SealedColumn(Column):
    """One of a pair of columns: a value is in this one, or in the `plain` one."""

    name: LiteralString
    plain: LiteralString
    """Name of the other."""
    plain_type: Literal["text", "jsonb"] = "text"
    """Of the other; jsonb is sealed as JSON."""
    empty: LiteralString | None = None
    """What the other holds while it holds no value; None: NULL."""
    bound: tuple[LiteralString, ...] = ()
    """Columns that say what the value means: where one of them was changed, it can't be opened."""

    def at(self, key: Sequence[str | UUID], row: Mapping[str, Any]) -> tuple[str | UUID | bytes, ...]:
        """Return what `of` takes of a row with the columns that the value is bound to; `key` is its primary key."""
        if not self.bound:
            return tuple(key)
        said = [row[name] for name in self.bound]
        return *key, ormsgpack.packb(said, _moment, ormsgpack.OPT_PASSTHROUGH_DATETIME)

    @property
    def without_value(self) -> Any:
        """What the other reads as then."""
        return None if self.empty is None else json.loads(self.empty)


def _moment(value: Any) -> float:
    """Return a time as seconds, the same before it is stored and when it is read, whatever the time zone of the session."""
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(type(value).__name__)


@dataclass(frozen=True)
class SealedTable:
    """A table with such pairs. Its primary key, which its values are bound to, is user_key and one more column."""

    name: LiteralString
    key: LiteralString
    """That other column."""
    key_type: Literal["uuid", "text"]
    """Of it."""
    columns: tuple[SealedColumn, ...]

    @property
    def bound(self) -> tuple[LiteralString, ...]:
        """Further columns that values are bound to."""
        return tuple(name for column in self.columns for name in column.bound)


_CLEAR_OF_MEMORY: Final[tuple[LiteralString, ...]] = (
    "app_name",
    "type",
    "created_at",
    "valid_from",
    "valid_to",
    "request_id",
    "thread_id",
    "position",
    "agent_id",
    "importance",
    "confidence",
    "loop_flag",
    "tags",
    "conflict_flags",
    "turns",
)
MEMORY_TEXT: Final = SealedColumn("memory", "sealed_text", "text", bound=_CLEAR_OF_MEMORY)
MEMORY_REASONING: Final = SealedColumn("memory", "sealed_reasoning", "reasoning")
MEMORY_FEEDBACK: Final = SealedColumn("memory", "sealed_feedback", "feedback", "jsonb")
MEMORY_PROVENANCE: Final = SealedColumn("memory", "sealed_provenance", "provenance", "jsonb")
_CLEAR_OF_TURN: Final[tuple[LiteralString, ...]] = (
    "thread_key",
    "app_name",
    "agent_id",
    "modality",
    "is_emergency",
    "loop_flag",
    "started_at",
    "ended_at",
    "answer_id",
)
TURN_INPUT: Final = SealedColumn("conversation_log", "sealed_input", "input_text", bound=_CLEAR_OF_TURN)
TURN_OUTPUT: Final = SealedColumn("conversation_log", "sealed_output", "output_text")
TURN_MEDIA: Final = SealedColumn("conversation_log", "sealed_media", "media", "jsonb")
TURN_PROVENANCE: Final = SealedColumn("conversation_log", "sealed_provenance", "provenance", "jsonb", "{}")
SESSION_INTENT: Final = SealedColumn("session_record", "sealed_intent", "intent")
SESSION_SUMMARY: Final = SealedColumn("session_summary", "sealed_said", "said")
PROPOSAL: Final = SealedColumn("memory_proposal", "sealed_record", "record")
ROLLING_SUMMARY: Final = SealedColumn("rolling_summary", "sealed_text", "text", bound=("rounds", "last_message_id"))
ITEM_VALUE: Final = SealedColumn("store_item", "sealed_value", "value", "jsonb", bound=("key",))

SEALED_TABLES: Final = (
    SealedTable("memory", "entry_id", "uuid", (MEMORY_TEXT, MEMORY_REASONING, MEMORY_FEEDBACK, MEMORY_PROVENANCE)),
    SealedTable("conversation_log", "request_id", "text", (TURN_INPUT, TURN_OUTPUT, TURN_MEDIA, TURN_PROVENANCE)),
    SealedTable("session_record", "thread_key", "uuid", (SESSION_INTENT,)),
    SealedTable("session_summary", "thread_key", "uuid", (SESSION_SUMMARY,)),
    SealedTable("memory_proposal", "proposal_key", "uuid", (PROPOSAL,)),
    SealedTable("rolling_summary", "thread_key", "uuid", (ROLLING_SUMMARY,)),
    SealedTable("store_item", "item_key", "uuid", (ITEM_VALUE,)),
)
"""What lasts."""

ROUND_INPUT: Final = SealedColumn("short_term_round", "sealed_input", "input_text")
ROUND_OUTPUT: Final = SealedColumn("short_term_round", "sealed_output", "output_text")
WORK_ANSWER: Final = SealedColumn("short_term_work", "sealed_answer", "answer")
VAULT_VALUE: Final = Column("vault_value", "sealed")
"""What lasts a day at most: bound to user_id, thread_id and request_id, to user_id, kind and reference, and to the turn and a digest of
the name. In Redis it is bound to the same."""
