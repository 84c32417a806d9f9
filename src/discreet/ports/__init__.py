"""What the rooms above need from outside, as protocols. Adapters live in `storage` and `providers`, fakes in `testing`."""

from discreet.ports.annotations import AnnotatedTurn, TurnAnnotator
from discreet.ports.audit import NOBODY, AuditEntry, AuditLog, NoAudit
from discreet.ports.batches import (
    BatchLimits,
    BatchProvider,
    BatchRequest,
    BatchResult,
    BatchState,
    BatchStatus,
    ResultState,
)
from discreet.ports.embeddings import Calibration, EmbeddingProvider, is_semantic
from discreet.ports.epochs import BeginsWork
from discreet.ports.keys import KEY_BYTES, Key, KeyProvider, KeyWrapper
from discreet.ports.media import Media, MediaSummarizer
from discreet.ports.memories import ConversationLog, ForgetRequest, Forgotten, LoadsFirst, LogsRounds, Memories
from discreet.ports.openings import MemoryQuery, OpenedTurn, OpensTurns
from discreet.ports.redaction import Locating, Marking, Masking, TextRedactor, ThreadAware, TurnVault, of_thread
from discreet.ports.secrets import DecliningSecretStore, SecretStore
from discreet.ports.settings import FixedSettings, LiveSettings, SettingsStore
from discreet.ports.short_term import (
    HISTORY_SECONDS,
    SESSION_SECONDS,
    Claim,
    Done,
    Round,
    Running,
    ShortTermStore,
    Started,
    Work,
    WorkKind,
)
from discreet.ports.summaries import RollingSummaries, RollingSummary, SpokenRound, SummaryProvider
from discreet.ports.tokens import TokenCounter
from discreet.ports.vectors import VectorStore

__all__ = [
    "HISTORY_SECONDS",
    "KEY_BYTES",
    "NOBODY",
    "SESSION_SECONDS",
    "AnnotatedTurn",
    "AuditEntry",
    "AuditLog",
    "BatchLimits",
    "BatchProvider",
    "BatchRequest",
    "BatchResult",
    "BatchState",
    "BatchStatus",
    "BeginsWork",
    "Calibration",
    "Claim",
    "ConversationLog",
    "DecliningSecretStore",
    "Done",
    "EmbeddingProvider",
    "FixedSettings",
    "ForgetRequest",
    "Forgotten",
    "Key",
    "KeyProvider",
    "KeyWrapper",
    "LiveSettings",
    "LoadsFirst",
    "Locating",
    "LogsRounds",
    "Marking",
    "Masking",
    "Media",
    "MediaSummarizer",
    "Memories",
    "MemoryQuery",
    "NoAudit",
    "OpenedTurn",
    "OpensTurns",
    "ResultState",
    "RollingSummaries",
    "RollingSummary",
    "Round",
    "Running",
    "SecretStore",
    "SettingsStore",
    "ShortTermStore",
    "SpokenRound",
    "Started",
    "SummaryProvider",
    "TextRedactor",
    "ThreadAware",
    "TokenCounter",
    "TurnAnnotator",
    "TurnVault",
    "VectorStore",
    "Work",
    "WorkKind",
    "is_semantic",
    "of_thread",
]
