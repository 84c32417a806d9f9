"""A LangGraph store in front of any other that writes redacted values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, Op, PutOp, Result, SearchOp, TTLConfig
from langgraph.store.postgres.aio import AsyncPostgresStore

from discreet.errors import InvalidRecordError
from discreet.locks import setup_lock
from discreet.ports import TextRedactor
from discreet.redaction.configured import default_redactor
from discreet.redaction.walker import redact_object
from discreet.storage.pool import Pool


class RedactingStore(BaseStore):
    """Redacts what is put into `inner`, and what searches are filtered by.

    Namespaces and keys identify rows, so they are never changed: two people's e-mail addresses would become one
    placeholder, and one would read the other's items. They must be opaque, and are refused otherwise.

    Raises, on any operation:
        InvalidRecordError: A namespace label or a key holds a sensitive value. Nothing was written.

    Example:
        >>> from langgraph.store.memory import InMemoryStore
        >>> store = RedactingStore(InMemoryStore())
        >>> store.put(("notes", "user-7"), "1", {"text": "write to ann@example.com"})
        >>> store.get(("notes", "user-7"), "1").value
        {'text': 'write to <EMAIL>'}
    """

    __slots__ = ("_inner", "_redactor")

    def __init__(self, inner: BaseStore, *, redactor: TextRedactor | None = None) -> None:
        """Write to `inner`."""
        self._inner = inner
        self._redactor = redactor or default_redactor()

    @property
    def supports_ttl(self) -> bool:  # type: ignore[override]  # upstream has a class attribute
        """Whether `inner` expires items."""
        return self._inner.supports_ttl

    @property
    def ttl_config(self) -> TTLConfig | None:  # type: ignore[override]  # upstream has a class attribute
        """How `inner` expires items."""
        return self._inner.ttl_config

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `ops` on the inner store, redacted."""
        return self._inner.batch([self._redacted(op) for op in ops])

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `ops` on the inner store, redacted."""
        return await self._inner.abatch([self._redacted(op) for op in ops])

    def _redacted(self, op: Op) -> Op:
        match op:
            case PutOp():
                self._check_opaque(*op.namespace, op.key)
                return op._replace(value=None if op.value is None else self._redact(op.value))
            case GetOp():
                self._check_opaque(*op.namespace, op.key)
                return op
            case SearchOp():
                self._check_opaque(*op.namespace_prefix)
                return op._replace(filter=None if op.filter is None else self._redact(op.filter))
            case ListNamespacesOp():
                return op
        raise InvalidRecordError(f"The store does not know the operation {type(op).__name__}.")

    def _redact(self, value: Mapping[str, Any]) -> dict[str, Any]:
        redacted: dict[str, Any] = redact_object(dict(value), self._redactor)
        return redacted

    def _check_opaque(self, *labels: str) -> None:
        if any(self._redactor.redact(label) != label for label in labels):
            raise InvalidRecordError(
                "Namespaces and keys of the store must be opaque ids: one holds an e-mail address, a number or a secret."
            )


async def postgres_store(pool: Pool) -> RedactingStore:
    """Return a redacting store over LangGraph's own Postgres store, whose tables are made if they are not there.

    Several processes may call it at once.

    Raises:
        MigrationError: Another process has been creating tables for a minute.
    """
    async with pool.connection() as conn, setup_lock(conn):
        await AsyncPostgresStore(conn).setup()
    return RedactingStore(AsyncPostgresStore(pool))
