"""What a JSON schema takes: an example of it, and where in it a value can stand."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

Schema = Mapping[str, Any]
Place = tuple[str | int, ...]
"""Keys and indexes on the way to a value."""

WORDS = "I like green tea."
MOMENT = "2026-11-01T10:00:00Z"
SOME_ID = str(UUID(int=1, version=4))


def resolved(schema: Schema, document: Schema) -> Schema:
    """Return the schema that a reference leads to."""
    while "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def example(schema: Schema, document: Schema) -> Any:
    """Return the least that a schema takes."""
    schema = resolved(schema, document)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        return example(choice, document)
    if "enum" in schema or "const" in schema:
        return schema.get("const", next(iter(schema.get("enum", [None]))))
    if schema.get("type") == "object":
        names = schema.get("required", ())
        return {name: example(schema["properties"][name], document) for name in names}
    if schema.get("type") == "string":
        return {"uuid": SOME_ID, "date-time": MOMENT}.get(schema.get("format", ""), WORDS)
    least = schema.get("minimum", 1)
    return {"array": [], "boolean": False, "integer": least, "number": least}.get(schema.get("type"))


def places(schema: Schema, document: Schema, at: Place = ()) -> Iterator[Place]:
    """Yield where in a body values stand that have no parts, of what need not be there too."""
    schema = resolved(schema, document)
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if choices:
        found = dict.fromkeys(place for choice in choices for place in places(choice, document, at))
        yield from found
    elif schema.get("properties"):
        for name, inner in schema["properties"].items():
            yield from places(inner, document, (*at, name))
    elif schema.get("type") == "array" and "items" in schema:
        yield from places(schema["items"], document, (*at, 0))
    else:
        yield at


def put(body: Any, place: Place, value: Any) -> Any:
    """Return a body that has the value there."""
    if not place:
        return value
    first, rest = place[0], place[1:]
    if isinstance(first, int):
        return [put(None, rest, value)]
    body = copy.copy(body) if isinstance(body, dict) else {}
    body[first] = put(body.get(first), rest, value)
    return body
