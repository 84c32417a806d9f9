"""Refuse bodies of the wrong shape before the server does: its answer and its log line repeat what was sent."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from discreet.errors import InvalidRequestError
from discreet.state.described import UNKNOWN

SERVER: Final = "langgraph_api.validation"
"""Where the server has its JSON schemas, by name, as validators of `jsonschema_rs`."""

MOST_TOLD: Final = 20
"""Problems of one body."""

_ID: Final = "[^/]+"
_SHAPES: Final = tuple(
    (method, re.compile(path), name)
    for method, path, name in (
        ("POST", "/runs", "RunCreateStateless"),
        ("POST", "/runs/(?:stream|wait)", "RunCreateStreamingStateless"),
        ("POST", "/runs/batch", "RunBatchCreate"),
        ("POST", "/runs/cancel", "RunsCancel"),
        ("POST", f"/threads/{_ID}/runs", "RunCreateStateful"),
        ("POST", f"/threads/{_ID}/runs/(?:stream|wait)", "RunCreateStreamingStateful"),
        ("POST", "/runs/crons", "CronCreate"),
        ("POST", f"/threads/{_ID}/runs/crons", "ThreadCronCreate"),
        ("POST", "/runs/crons/search", "CronSearch"),
        ("POST", "/runs/crons/count", "CronCountRequest"),
        ("PATCH", f"/runs/crons/{_ID}", "CronPatch"),
        ("POST", "/threads", "ThreadCreate"),
        ("POST", "/threads/search", "ThreadSearchRequest"),
        ("POST", "/threads/count", "ThreadCountRequest"),
        ("POST", "/threads/prune", "ThreadPruneRequest"),
        ("PATCH", f"/threads/{_ID}", "ThreadPatch"),
        ("POST", f"/threads/{_ID}/state", "ThreadStateUpdate"),
        ("POST", f"/threads/{_ID}/state/checkpoint", "ThreadStateCheckpointRequest"),
        ("POST", f"/threads/{_ID}/history", "ThreadStateSearch"),
        ("POST", "/assistants", "AssistantCreate"),
        ("POST", "/assistants/search", "AssistantSearchRequest"),
        ("POST", "/assistants/count", "AssistantCountRequest"),
        ("POST", f"/assistants/{_ID}/versions", "AssistantVersionsSearchRequest"),
        ("POST", f"/assistants/{_ID}/latest", "AssistantVersionChange"),
        ("PATCH", f"/assistants/{_ID}", "AssistantPatch"),
        ("PUT", "/store/items", "StorePutRequest"),
        ("DELETE", "/store/items", "StoreDeleteRequest"),
        ("POST", "/store/items/search", "StoreSearchRequest"),
        ("POST", "/store/namespaces", "StoreListNamespacesRequest"),
    )
)

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
    ("CronCreate", "ThreadCronCreate"), ("assistant_id", "schedule")
)
"""Fields that the validators let through missing, though their schemas ask for them: the server then fails."""

_TYPES: Final[Mapping[str, str]] = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def shape_of(method: str, path: str) -> str | None:
    """Return the name of the schema that the server has for the body of a request; None if it has none."""
    return next((name for verb, pattern, name in _SHAPES if verb == method and pattern.fullmatch(path)), None)


def check_shape(body: Any, shape: str | None) -> None:
    """Refuse a body, redacted already, that the server of this process would refuse by its schema.

    Raises:
        InvalidRequestError: `fields` says what is wrong, with the schema's own words only.
    """
    validator = getattr(sys.modules.get(SERVER), shape, None) if shape else None
    if shape is None or validator is None:
        return
    found = dict.fromkeys([*_missing(body, shape), *map(_said_of, islice(validator.iter_errors(body), MOST_TOLD))])
    if found:
        told = "; ".join(f"{field} {problem}" for field, problem in found)
        raise InvalidRequestError(list(found), f"The request can't be taken: {told}. Nothing was stored.")


def _missing(body: Any, shape: str) -> Iterator[tuple[str, str]]:
    if isinstance(body, Mapping):
        yield from ((name, "is needed") for name in _NEEDED.get(shape, ()) if body.get(name) is None)


def _said_of(error: Any) -> tuple[str, str]:
    """Return the field that an error of a validator is about, and what is wrong with it.

    Of the place only what the schema names is told: numbers, and the first name, under which others may be made up.
    """
    place: list[str] = []
    for step in error.instance_path:
        place.append(str(step))
        if isinstance(step, str):
            break
    told = error.kind.as_dict()
    if error.kind.name == "required":
        return ".".join([*place, told["property"]]), "is needed"
    return ".".join(place) or "body", _problem(error.kind.name, told)


def _problem(kind: str, told: Mapping[str, Any]) -> str:
    if kind == "type":
        return f"must be {' or '.join(_TYPES[each] for each in told['types'])}"
    if kind == "enum":
        return f"must be one of {', '.join(map(str, told['options']))}"
    return UNKNOWN
