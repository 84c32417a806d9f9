"""What the filter of a store's search means, in SQL and in Python.

A filter names top-level fields of a value, each with what it must equal or with operators. Two JSON values are equal
as PostgreSQL's `jsonb` says: 1 equals 1.0, and true equals only itself. The four orders compare numbers with numbers
and texts with texts, by code point; a field that is not there, or of another type, fits no condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any, Final, LiteralString

from psycopg.types.json import Jsonb

from discreet.errors import InvalidFilterError

ALL_OF = "$and"
"""Joins filters: LangGraph's server joins the caller's and that of the authorisation so."""

_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_OPERATORS = ("$eq", "$ne", *_ORDERS)

FITS: LiteralString = """
(i.value IS NULL OR NOT EXISTS (
    SELECT FROM unnest(%(fields)s::text[], %(operators)s::text[], %(operands)s::jsonb[]) AS f (field, operator, operand)
    CROSS JOIN LATERAL (
        SELECT CASE WHEN jsonb_typeof(i.value -> f.field) <> jsonb_typeof(f.operand) THEN NULL
                    WHEN jsonb_typeof(f.operand) = 'number' THEN jsonb_cmp(i.value -> f.field, f.operand)
                    WHEN jsonb_typeof(f.operand) = 'string'
                    THEN bttextcmp((i.value ->> f.field) COLLATE "C", f.operand #>> '{}') END AS sign
    ) o
    WHERE NOT coalesce(
        CASE f.operator
            WHEN '$eq' THEN i.value -> f.field = f.operand
            WHEN '$ne' THEN i.value -> f.field <> f.operand
            WHEN '$gt' THEN o.sign > 0
            WHEN '$gte' THEN o.sign >= 0
            WHEN '$lt' THEN o.sign < 0
            WHEN '$lte' THEN o.sign <= 0
        END, false)
))
"""
"""Whether item `i` fits the conditions. One text for all filters: field names and values are parameters, never SQL. A
sealed value fits: where there is a key, `fits` decides, and where its key is lost, opening it must say so."""


@dataclass(frozen=True)
class Condition:
    """One thing that must hold."""

    field: str
    """Name of a top-level field."""
    operator: str
    """One of `_OPERATORS`."""
    operand: Any
    """What the field is compared with."""


def conditions_of(wanted: Mapping[str, Any] | None) -> list[Condition]:
    """Return what must hold for a value to fit the filter `wanted`.

    Raises:
        InvalidFilterError: An operator is not known, or orders something else than numbers and texts.
    """
    return [_checked(condition) for condition in _conditions(wanted or {})]


def has_operators(wanted: object) -> bool:
    """Whether what a filter wants of a field is given by operators, rather than being the value itself."""
    return isinstance(wanted, Mapping) and any(isinstance(name, str) and name.startswith("$") for name in wanted)


def filter_parameters(conditions: list[Condition]) -> dict[str, Any]:
    """Return the parameters of `FITS`."""
    return {
        "fields": [condition.field for condition in conditions],
        "operators": [condition.operator for condition in conditions],
        "operands": [Jsonb(condition.operand) for condition in conditions],
    }


def fits(value: Mapping[str, Any], conditions: list[Condition]) -> bool:
    """Return whether `value` fits the conditions, as `FITS` would."""
    return all(
        condition.field in value and _holds(value[condition.field], condition.operator, condition.operand)
        for condition in conditions
    )


def _conditions(wanted: Mapping[str, Any]) -> Iterator[Condition]:
    for field, value in wanted.items():
        if field == ALL_OF and isinstance(value, list):
            for part in value:
                yield from _conditions(part)
        elif has_operators(value):
            for operator, operand in value.items():
                yield Condition(field, operator, operand)
        else:
            yield Condition(field, "$eq", value)


def _checked(condition: Condition) -> Condition:
    if condition.operator not in _OPERATORS:
        raise InvalidFilterError(f"A filter may use {', '.join(_OPERATORS)}, and {ALL_OF} around filters.")
    if condition.operator in _ORDERS and _kind(condition.operand) not in ("number", "string"):
        raise InvalidFilterError(f"{condition.operator} orders numbers and texts only.")
    return condition


def _holds(value: Any, operator: str, operand: Any) -> bool:
    if operator in _ORDERS:
        kind = _kind(value)
        return kind == _kind(operand) and _ORDERS[operator](_comparable(value), _comparable(operand))
    return (_comparable(value) == _comparable(operand)) is (operator == "$eq")


def _kind(value: Any) -> str:
    """Return the JSON type of `value`."""
    if isinstance(value, bool) or value is None:
        return "literal"
    if isinstance(value, (int, float, Decimal)):
        return "number"
    return "string" if isinstance(value, str) else "container"


def _comparable(value: Any) -> Any:
    """Return what is equal where the database says so: the decimal number that JSON shows, and no bool for a number."""
    match value:
        case bool() | None:
            return ("literal", value)
        case int() | float():
            return Decimal(str(value))
        case Mapping():
            return {name: _comparable(item) for name, item in value.items()}
        case list() | tuple():
            return [_comparable(item) for item in value]
    return value
