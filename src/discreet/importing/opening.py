"""Open a source by the name of its kind."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from discreet.errors import ImportSourceError
from discreet.importing.source import Source
from discreet.importing.sources.agents_sdk import open_agents_sdk
from discreet.importing.sources.columns import open_csv, open_jsonl, read_map
from discreet.importing.sources.export import open_export
from discreet.importing.sources.json_store import open_json
from discreet.importing.sources.langmem import open_langmem
from discreet.importing.sources.mem0 import open_mem0
from discreet.importing.sources.redis_history import open_redis_history
from discreet.importing.sources.store import open_store

_FILES: Final[Mapping[str, Callable[..., Source]]] = {
    "export": open_export,
    "json": open_json,
    "jsonl": open_jsonl,
    "csv": open_csv,
}
_CONNECTED: Final[Mapping[str, Callable[..., AbstractAsyncContextManager[Source]]]] = {
    "store": open_store,
    "langmem": open_langmem,
    "mem0": open_mem0,
    "agents-sdk": open_agents_sdk,
    "redis": open_redis_history,
}
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {"agents-sdk": {"table": "messages_table"}}
"""What an option is called there, where that is another name."""
_TABLES: Final = ("csv", "jsonl")


@asynccontextmanager
async def open_source(
    kind: str, location: str, *, columns: Sequence[str] = (), options: Mapping[str, str] | None = None
) -> AsyncIterator[Source]:
    """Yield the source of a kind. `columns`: see `read_map`; `options` are those that its kind has.

    Raises:
        ImportSourceError: It can't be read, or has no such option.
    """
    named = _NAMES.get(kind, {})
    given: dict[str, Any] = {named.get(name, name): value for name, value in (options or {}).items()}
    if kind in _TABLES:
        given["columns"] = read_map(columns)
    elif columns:
        raise ImportSourceError(f"--map is for {' and '.join(_TABLES)}.")
    opened = _FILES.get(kind) or _CONNECTED[kind]
    if foreign := sorted(given.keys() - inspect.signature(opened).parameters.keys()):
        option = foreign[0].removesuffix("_id").replace("_", "-")
        raise ImportSourceError(f"An import of {kind} has no --{option}.")
    if kind in _FILES:
        yield _FILES[kind](location, **given)
        return
    async with _CONNECTED[kind](location, **given) as source:
        yield source
