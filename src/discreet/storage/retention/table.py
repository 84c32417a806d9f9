"""How long what is kept, and by which setting: the one table of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from discreet.state.memory_settings import MemorySettings


@dataclass(frozen=True)
class Kind:
    """One kind of what is kept for a while."""

    name: str
    """As metrics, the audit trail and the command have it."""
    what: str
    """In words."""
    setting: str | None = None
    """Name in `MemorySettings`, which ends with its unit; None: each row says itself until when it stays."""
    until: str = ""
    """What says so then, or what else there is to say."""
    tables: Sequence[str] = ()
    """Whose rows they are."""
    is_fleeting: bool = False
    """Whether it lives for minutes or hours: looked for every minute, and left out of the audit trail."""

    def kept(self, settings: MemorySettings) -> timedelta | None:
        """Return for how long it is kept; `timedelta.max`: it does not go by its age; None: each row says."""
        if self.setting is None:
            return None
        number: int = getattr(settings, self.setting)
        return timedelta(**{self.setting.rpartition("_")[2]: number}) if number else timedelta.max


KINDS: Final = (
    Kind(
        "active",
        "a session counts as active",
        "retention_session_minutes",
        until="nothing goes then; its rounds are the next kind",
        is_fleeting=True,
    ),
    Kind(
        "history",
        "last rounds of sessions",
        "retention_history_hours",
        until="with Redis, it deletes them itself",
        tables=("short_term_session", "short_term_round"),
        is_fleeting=True,
    ),
    Kind(
        "answers",
        "claims of work, and answers for what is delivered twice",
        until="seconds for messages, 24 hours for recordings and calls of the REST API",
        tables=("short_term_work",),
        is_fleeting=True,
    ),
    Kind(
        "vault",
        "real values of turns, sealed",
        until="DISCREET_VAULT_SECONDS after a turn, DISCREET_PAUSE_SECONDS in a paused one",
        tables=("vault_turn", "vault_value"),
        is_fleeting=True,
    ),
    Kind(
        "items",
        "items of the store that have a time to live",
        until="as whoever stored them said; others until they are deleted",
        tables=("store_item",),
        is_fleeting=True,
    ),
    Kind(
        "log",
        "turns in the conversation log",
        "retention_log_days",
        until="what an important moment was said in stays as long as that",
        tables=("conversation_log",),
    ),
    Kind(
        "sessions",
        "session records, of which the log has no turn any more",
        "retention_log_days",
        tables=("session_record",),
    ),
    Kind(
        "summaries",
        "rolling summaries",
        "retention_log_days",
        until="with their thread: after its last turn in the log, or its last checkpoint",
        tables=("rolling_summary",),
    ),
    Kind("turns", "turns that are found by search, vector and text", "retention_turn_days", tables=("memory",)),
    Kind(
        "reasoning",
        "reasoning that was posted, by itself or with a memory",
        "retention_reasoning_days",
        until="with an important moment as long as that",
        tables=("memory",),
    ),
    Kind(
        "prompts",
        "prompts of batches, after their end, without any text",
        "retention_batch_days",
        until="those that wait go with the turns they are about",
        tables=("batch_requests",),
    ),
    Kind("batches", "batches, after their end", "retention_batch_days", tables=("batch_jobs",)),
    Kind("proposals", "memories that wait for somebody's yes", "retention_proposal_days", tables=("memory_proposal",)),
    Kind(
        "anonymous",
        "people who spoke without a user_id, with all of theirs",
        "retention_anonymous_days",
        until="from their first turn on, as the setting was then",
        tables=("users",),
    ),
    Kind(
        "threads",
        "threads, after their last checkpoint, with what was forgotten in them",
        "retention_checkpoint_days",
        until="a paused one as long as its pause at least",
        tables=(
            "checkpoints",
            "checkpoint_blobs",
            "checkpoint_writes",
            "checkpoint_messages",
            "checkpoint_threads",
            "forgotten_round",
        ),
    ),
    Kind(
        "checkpoints",
        "checkpoints of threads that go on, but for the newest",
        "retention_checkpoint_days",
        tables=("checkpoints", "checkpoint_blobs", "checkpoint_writes"),
    ),
    Kind(
        "messages",
        "words of messages in threads that go on",
        "retention_checkpoint_days",
        until="a line stands in their place",
        tables=("checkpoint_messages",),
    ),
    Kind(
        "pauses",
        "paused turns, sealed",
        until="DISCREET_PAUSE_SECONDS, turns that are over as long as history_ttl says",
        tables=("checkpoint_spill",),
    ),
    Kind(
        "deletions",
        "marks of deleted threads, so that nothing brings them back",
        until="a day",
        tables=("checkpoint_threads",),
    ),
    Kind(
        "receipts",
        "receipts of erasures, which name nobody and hold nothing that was said",
        "retention_audit_days",
        tables=("erasure",),
    ),
    Kind(
        "audit",
        "entries of the audit trail",
        "retention_audit_days",
        tables=("audit_chain", "audit_entry", "audit_seal", "audit_sealed_head"),
    ),
)
"""What goes by itself, in the order in which people look for it."""

BY_NAME: Final = {kind.name: kind for kind in KINDS}

UNTIL_ERASED: Final[Mapping[str, str]] = {
    "users": "a digest of each user, and how often theirs was erased",
    "user_memories": "how many memories a user has",
    "user_token": "digests of the words of a user's memories",
    "memory": "facts, preferences, events, summaries, important moments: until erased, forgotten or evicted; moments are not evicted",
    "memory_conflict": "which memories can't both hold",
    "memory_stats": "how often a memory was found",
    "session_summary": "what a session came to",
    "delegation": "who may read what is a user's, and the last of those who might",
    "store_item": "items of the store without a time to live",
    "store_namespace": "namespaces that hold items",
}
"""Tables with rows of people that stay until these are erased, or whoever made them deletes them."""
