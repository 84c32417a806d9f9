"""Requests with a value planted in one field each: path, query, headers, body, and what is no field at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote

from rest_battery.schemas import Place, example, places, put

Plant = Callable[[str], str]
"""Returns a value for a place, and plants it."""

HEADERS = (
    *("user-agent", "referer", "cookie", "accept-language", "origin", "from", "x-request-id", "x-correlation-id"),
    *("x-user-id", "x-forwarded-for", "forwarded", "traceparent", "baggage", "if-none-match", "content-language"),
)
"""What clients and proxies send, whatever the API says of it."""
CREDENTIALS = {"authorization": "Bearer {}", "x-api-key": "{}", "proxy-authorization": "Basic {}"}
"""In the place of what lets them in."""

JSON = "application/json"


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One request."""

    method: str
    path: str
    what: str
    """Where the value is."""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Api:
    """An API to plant in."""

    document: Mapping[str, Any]
    """Its OpenAPI."""
    ids: Mapping[str, str]
    """What paths name where nothing is planted."""
    plant: Callable[[str, str], str]
    """Returns a value for a place of an operation, and plants it."""
    bodies: Mapping[str, Any] = field(default_factory=dict)
    """By the operation: what is sent beside the value. Without one, the least that its schema takes."""

    def requests(self) -> Iterator[tuple[str, Sent]]:
        """Yield each operation with requests to it, all that there are."""
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                name = f"{method.upper()} {path}"
                yield from ((name, sent) for sent in self._of_operation(name, operation))

    def _of_operation(self, name: str, operation: Mapping[str, Any]) -> Iterator[Sent]:
        method, path = name.split(" ")
        plant = partial(self._planted, name)
        schema = operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema")
        body = None if schema is None else self.bodies.get(name) or example(schema, self.document)
        sound: dict[str, Any] = {"method": method, "path": _filled(path, self.ids)}
        if body is not None:
            sound |= {"content": _json(body), "headers": {"content-type": JSON}}
        for parameter in operation.get("parameters", []):
            yield self._with_parameter(parameter, path, sound, plant)
        yield from _beside(sound, plant)
        if schema is not None:
            yield from _of_bodies(list(places(schema, self.document)), body, sound, plant)

    def _with_parameter(self, parameter: Mapping[str, Any], path: str, sound: Mapping[str, Any], plant: Plant) -> Sent:
        name, where = parameter["name"], parameter["in"]
        what = f"{where} {name}"
        value = plant(what)
        if where == "path":
            return _sent(sound, what, path=_filled(path, {**self.ids, name: quote(value, safe="")}))
        if where == "query":
            return _sent(sound, what, query={name: value})
        return _sent(sound, what, headers=_header(sound, name, value))

    def _planted(self, operation: str, what: str) -> str:
        return self.plant(what, operation)


def _beside(sound: Mapping[str, Any], plant: Plant) -> Iterator[Sent]:
    """Yield requests with a value where the operation knows of nothing."""
    yield _sent(sound, "name of a parameter", query={plant("name of a parameter"): "x"})
    yield _sent(sound, "unknown parameter", query={"unknown": plant("unknown parameter")})
    yield _sent(sound, "end of the path", path=f"{sound['path']}/{quote(plant('end of the path'), safe='')}")
    for header in HEADERS:
        yield _sent(sound, f"header {header}", headers=_header(sound, header, plant(f"header {header}")))
    for header, form in CREDENTIALS.items():
        value = form.format(plant(f"header {header}"))
        yield _sent(sound, f"header {header}", headers=_header(sound, header, value))
    yield _sent(sound, "content type", headers=_header(sound, "content-type", plant("content type")))


def _of_bodies(fields: Iterable[Place], body: Any, sound: Mapping[str, Any], plant: Plant) -> Iterator[Sent]:
    """Yield requests with a value in each field of the body, and with bodies that are none."""
    for place in fields:
        name = ".".join(map(str, place)) or "body"
        yield _sent(sound, f"field {name}", content=_json(put(body, place, plant(f"field {name}"))))
        sentence = f"Please write to {plant(f'sentence in {name}')}, thanks."
        yield _sent(sound, f"sentence in {name}", content=_json(put(body, place, sentence)))
        deep = {plant(f"key below {name}"): [plant(f"value below {name}")]}
        yield _sent(sound, f"object in {name}", content=_json(put(body, place, deep)))
    known = body if isinstance(body, dict) else {}
    yield _sent(sound, "name of a field", content=_json({**known, plant("name of a field"): "x"}))
    yield _sent(sound, "unknown field", content=_json({**known, "unknown": plant("unknown field")}))
    yield _sent(sound, "a list", content=_json([plant("a list")]))
    yield _sent(sound, "broken JSON", content=f'{{"short_answer": "{plant("broken JSON")}'.encode())
    yield _sent(sound, "no JSON", content=plant("no JSON").encode(), headers={"content-type": "text/plain"})
    form = f"short_answer={quote(plant('a form'), safe='')}".encode()
    yield _sent(sound, "a form", content=form, headers={"content-type": "application/x-www-form-urlencoded"})
    yield _sent(sound, "UTF-16", content=_json({**known, "unknown": plant("UTF-16")}).decode().encode("utf-16"))


def _sent(sound: Mapping[str, Any], what: str, **changed: Any) -> Sent:
    return Sent(**{**sound, **changed}, what=what)


def _header(sound: Mapping[str, Any], name: str, value: str) -> dict[str, str]:
    return {**sound.get("headers", {}), name: value}


def _filled(path: str, ids: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], path)


def _json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
