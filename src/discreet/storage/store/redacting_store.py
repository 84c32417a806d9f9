"""A LangGraph store in front of any other that writes redacted values only."""

from __future__ import annotations

from collections.abc import Iterable

from langgraph.store.base import BaseStore, Op, Result, TTLConfig

from discreet.ports import TextRedactor
from discreet.redaction.configured import default_redactor
from discreet.storage.store.ops import redacted_op


class RedactingStore(BaseStore):
    """Redacts what is put into `inner`, and what searches ask and are filtered by.

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
        return self._inner.batch([redacted_op(op, self._redactor) for op in ops])

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `ops` on the inner store, redacted."""
        return await self._inner.abatch([redacted_op(op, self._redactor) for op in ops])
