"""Ids of threads in records and filters, as they are stored."""

from __future__ import annotations

from discreet.access.sensitive_ids import SensitiveIds
from discreet.state.records import MemoryFilters, MemoryRecord


def with_stored_thread(record: MemoryRecord, ids: SensitiveIds) -> MemoryRecord:
    """Return `record` with the thread_id that is stored.

    Raises:
        SensitiveIdError: It holds a sensitive value, and the settings refuse such ids.
    """
    if record.thread_id is None or (stored := ids.thread_id(record.thread_id)) == record.thread_id:
        return record
    return record.model_copy(update={"thread_id": stored})


def with_stored_threads(filters: MemoryFilters, ids: SensitiveIds) -> MemoryFilters:
    """Return `filters` with the threads by what they are stored under."""
    named = {"thread_id": filters.thread_id, "running_thread": filters.running_thread}
    stored = {name: ids.thread_id(each, stores=False) for name, each in named.items() if each is not None}
    return filters.model_copy(update=stored) if stored else filters
