"""LangGraph's store: over our own tables, or in front of any other store, redacted either way."""

from discreet.storage.store.postgres_store import DiscreetStore
from discreet.storage.store.redacting_store import RedactingStore

__all__ = ["DiscreetStore", "RedactingStore"]
