"""What the fields of a class mean, for its JSON Schema, and what is wrong with a value for one, in words that repeat nothing of it."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Final


def describe_fields(schema: dict[str, Any], described: type) -> None:
    """Put into the schema of a class what stands under its fields: `ConfigDict(json_schema_extra=describe_fields)`.

    Pydantic's `use_attribute_docstrings` reads the source when the class is made, which took 0.2 s of a server's start. This
    reads it when somebody asks for a schema.
    """
    descriptions = field_descriptions(described)
    for name, field in schema.get("properties", {}).items():
        if name in descriptions:
            field.setdefault("description", descriptions[name])


@cache
def field_descriptions(described: type) -> Mapping[str, str]:
    """Return the string under each field, of base classes too, by the field's name."""
    return {
        name: text
        for each in reversed(described.__mro__)
        for name, text in _classes(each.__module__).get(each.__qualname__, {}).items()
    }


@cache
def _classes(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the strings under the fields of the classes that stand in `module`, by the class; none where there is no source."""
    file = getattr(sys.modules.get(module), "__file__", None)
    tree = ast.parse("".join(linecache.getlines(file))) if file else ast.Module(body=[], type_ignores=[])
    return {node.name: dict(_strings(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _strings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(node.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                yield name, inspect.cleandoc(text)


UNKNOWN: Final = "has a value that can't be taken"

_PROBLEMS: Final[Mapping[str, str]] = {
    "missing": "is needed",
    "extra_forbidden": "has a field that is not known",
    "string_type": "must be a text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "has characters that can't be taken",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
    "datetime_type": "must be a time as in 2026-01-02T12:34:56Z",
    "datetime_parsing": "must be a time as in 2026-01-02T12:34:56Z",
    "datetime_from_date_parsing": "must be a time as in 2026-01-02T12:34:56Z",
    "datetime_object_invalid": "must be a time as in 2026-01-02T12:34:56Z",
    "moment_range": "must be a time of the years 1900 to 2199",
    "no_feedback": "must have a rating or a comment",
    "blank": "must say something",
    "timezone_aware": "must say its time zone, as in 2026-01-02T12:34:56Z",
    "literal_error": "must be one of {expected}",
    "list_type": "must be a list",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
}
"""By pydantic's type of error. Its own messages quote the input here and there."""


def problem_of(error: Mapping[str, Any]) -> str:
    """Return what one of pydantic's errors says."""
    return _PROBLEMS.get(error["type"], UNKNOWN).format_map(error.get("ctx", {}))
