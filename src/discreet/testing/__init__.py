"""Fakes and checks for the tests of people who build on Discreet.

They keep no state outside themselves, need no network and no key, and behave as strictly as what they stand for.
"""

from discreet.redaction.vault import InMemoryTurnVault
from discreet.testing.annotations import FixedAnnotator
from discreet.testing.audit import InMemoryAuditLog
from discreet.testing.authenticator import TokenAuthenticator
from discreet.testing.batch_server import BatchServer, batch_server
from discreet.testing.batch_shelf import BatchScript, BatchShelf
from discreet.testing.batches import InMemoryBatchProvider
from discreet.testing.chat_models import DanglingToolCallError, ScriptedChatModel, check_tool_calls
from discreet.testing.checkpoint import conformance_policy
from discreet.testing.conformance import (
    KEY_PROVIDER_CHECKS,
    KEY_WRAPPER_CHECKS,
    SECRET_STORE_CHECKS,
    VECTOR_STORE_CHECKS,
    ConformanceError,
    check_key_provider,
    check_key_wrapper,
    check_secret_store,
    check_vector_store,
)
from discreet.testing.embeddings import StubEmbeddings
from discreet.testing.hostile_texts import hostile_texts
from discreet.testing.keys import InMemoryKeys, InMemoryKeyWrapper
from discreet.testing.memories import InMemoryConversationLog, InMemoryMemories
from discreet.testing.openai_server import Failure, OpenAIServer, RecordedRequest, openai_server
from discreet.testing.secrets import InMemorySecretStore
from discreet.testing.settings import InMemorySettingsStore
from discreet.testing.short_term import InMemoryShortTermStore
from discreet.testing.spill import InMemorySpill, InMemorySyncSpill
from discreet.testing.strict_model import PromptRefusedError, StrictChatModel, check_prompt
from discreet.testing.summaries import InMemoryRollingSummaries
from discreet.testing.vectors import InMemoryVectorStore

__all__ = [
    "KEY_PROVIDER_CHECKS",
    "KEY_WRAPPER_CHECKS",
    "SECRET_STORE_CHECKS",
    "VECTOR_STORE_CHECKS",
    "BatchScript",
    "BatchServer",
    "BatchShelf",
    "ConformanceError",
    "DanglingToolCallError",
    "Failure",
    "FixedAnnotator",
    "InMemoryAuditLog",
    "InMemoryBatchProvider",
    "InMemoryConversationLog",
    "InMemoryKeyWrapper",
    "InMemoryKeys",
    "InMemoryMemories",
    "InMemoryRollingSummaries",
    "InMemorySecretStore",
    "InMemorySettingsStore",
    "InMemoryShortTermStore",
    "InMemorySpill",
    "InMemorySyncSpill",
    "InMemoryTurnVault",
    "InMemoryVectorStore",
    "OpenAIServer",
    "PromptRefusedError",
    "RecordedRequest",
    "ScriptedChatModel",
    "StrictChatModel",
    "StubEmbeddings",
    "TokenAuthenticator",
    "batch_server",
    "check_key_provider",
    "check_key_wrapper",
    "check_prompt",
    "check_secret_store",
    "check_tool_calls",
    "check_vector_store",
    "conformance_policy",
    "hostile_texts",
    "openai_server",
]
