"""What the fields of a class mean: the string under each, for its JSON Schema."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any


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
