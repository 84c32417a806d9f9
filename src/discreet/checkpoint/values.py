"""Plain data: the only kind of value, beside messages, that a stored channel can hold."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from discreet.checkpoint.policy import CheckpointPolicy, Rule
from discreet.state.text import storable

ATOMS = (type(None), bool, int, bytes, datetime, date, time, timedelta, Decimal, UUID)
"""Types copied as they are. Compared exactly: a subclass may carry more than its base shows."""


MOST_BITS = 10_000
"""Of a whole number that is written out: Python refuses more than 4,300 digits (`sys.set_int_max_str_digits`)."""


class NotPlainError(TypeError):
    """The value holds something that is not plain data."""


def plain(value: Any) -> Any:
    """Return a copy of `value` built of plain data only, with text that PostgreSQL can hold.

    Raises:
        NotPlainError: An object of another type is in it, a subclass of a plain one, or a number that JSON lacks.
    """
    kind = type(value)
    if isinstance(value, str):  # LangChain's `message.text` is a subclass; of any, the text alone is taken
        return storable(str.__str__(value))
    if kind in ATOMS or (kind is float and math.isfinite(value)):
        return value
    if kind in (list, tuple, set, frozenset):
        return kind(plain(item) for item in value)
    if kind is dict:
        return {plain(key): plain(item) for key, item in value.items()}
    raise NotPlainError(kind.__name__)


def as_json(copy: Any) -> Any:
    """Return plain data as JSON and msgpack both hold it, so that a value is read alike from every saver.

    Ids, times, decimals and whole numbers beyond 64 bits become text, tuples and sets lists.

    Raises:
        NotPlainError: Bytes are in it, or a number of thousands of digits.
    """
    if isinstance(copy, bytes) or (is_too_big(copy) and copy.bit_length() > MOST_BITS):
        raise NotPlainError(type(copy).__name__)
    if isinstance(copy, dict):
        return {key if isinstance(key, str) else str(key): as_json(item) for key, item in copy.items()}
    if isinstance(copy, (set, frozenset)):
        return sorted(map(as_json, copy), key=repr)
    if isinstance(copy, (list, tuple)):
        return [*map(as_json, copy)]
    if isinstance(copy, (date, time)):
        return copy.isoformat()
    if isinstance(copy, (timedelta, Decimal, UUID)) or is_too_big(copy):
        return str(copy)
    return copy


def is_too_big(value: Any) -> bool:
    """Return whether `value` is a whole number that msgpack has no form for."""
    return isinstance(value, int) and not -(2**63) <= value < 2**64


def storable_copy(rule: Rule, value: Any) -> Any:
    """Return a copy of `value` for `seal`.

    Raises:
        NotPlainError: `value` can't be stored under `rule`. Bytes can't be redacted.
    """
    copy = plain(value)
    if rule is Rule.REDACT and _holds_bytes(copy):
        raise NotPlainError("bytes")
    return copy


def seal(rule: Rule, copy: Any, policy: CheckpointPolicy) -> Any:
    """Return a storable copy as `rule` stores it."""
    return copy if rule is Rule.KEEP else plain(policy.redact_value(copy))


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_bytes(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_holds_bytes, value))
    return isinstance(value, bytes)
