"""Redact the operations of a LangGraph store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.store.base import GetOp, ListNamespacesOp, Op, PutOp, SearchOp

from discreet.errors import InvalidRecordError
from discreet.ports import TextRedactor
from discreet.redaction.walker import redact_object
from discreet.storage.store.filters import ALL_OF, has_operators


def redacted_op(op: Op, redactor: TextRedactor) -> Op:
    """Return `op` with its value, its filter and its query redacted.

    Namespaces and keys identify rows, so they are never changed: two people's e-mail addresses would become one
    placeholder, and one would read the other's items. They must be opaque, and are refused otherwise.

    Raises:
        InvalidRecordError: A label or a key holds a sensitive value, or the operation is not known.
    """
    match op:
        case PutOp():
            _check_opaque(redactor, *op.namespace, op.key)
            return op._replace(value=None if op.value is None else _redacted(op.value, redactor))
        case GetOp():
            _check_opaque(redactor, *op.namespace, op.key)
            return op
        case SearchOp():
            _check_opaque(redactor, *op.namespace_prefix)
            return op._replace(
                filter=None if op.filter is None else redacted_filter(op.filter, redactor),
                query=None if op.query is None else redactor.redact(op.query),
            )
        case ListNamespacesOp():
            _check_opaque(redactor, *(label for condition in op.match_conditions or () for label in condition.path))
            return op
    raise InvalidRecordError(f"The store does not know the operation {type(op).__name__}.")


def redacted_filter(wanted: Mapping[str, Any], redactor: TextRedactor) -> dict[str, Any]:
    """Return a filter redacted as the values were: what a field is compared with is read together with its name."""
    redacted: dict[str, Any] = {}
    for field, value in wanted.items():
        if field == ALL_OF and isinstance(value, list):
            redacted[field] = [redacted_filter(part, redactor) for part in value]
        elif has_operators(value):
            operands = {operator: _redacted({field: operand}, redactor) for operator, operand in value.items()}
            for operator, named in operands.items():
                for name, operand in named.items():
                    redacted.setdefault(name, {})[operator] = operand
        else:
            redacted |= _redacted({field: value}, redactor)
    return redacted


def _redacted(value: Mapping[str, Any], redactor: TextRedactor) -> dict[str, Any]:
    redacted: dict[str, Any] = redact_object(dict(value), redactor)
    return redacted


def _check_opaque(redactor: TextRedactor, *labels: object) -> None:
    texts: Iterable[str] = (label for label in labels if isinstance(label, str))
    if any(redactor.redact(text) != text for text in texts):
        raise InvalidRecordError(
            "Namespaces and keys of the store must be opaque ids: one holds an e-mail address, a number or a secret."
        )
