"""`discreet settings`: what the database says of memory, and who changed it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

from pydantic import JsonValue
from rich.box import HORIZONTALS
from rich.console import Console
from rich.table import Column, Table

from discreet.access.actor import acting
from discreet.access.identity import load_identities
from discreet.access.user_keys import UserKeys, load_user_keys
from discreet.cli.session import login_name, operator
from discreet.cli.terminal import plain
from discreet.driver_errors import storage_errors
from discreet.providers.environment_values import EMBEDDING, environment_values, sources
from discreet.settings import Settings, load_settings
from discreet.state.described import field_descriptions
from discreet.state.memory_settings import MemorySettings
from discreet.storage import resolve_dsn
from discreet.storage.audit.choice import audit_log
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.database.migrating.migrations import migrate
from discreet.storage.settings.postgres_settings import PostgresSettingsStore

T = TypeVar("T")


def run_list(dsn: str | None, *, as_json: bool) -> None:
    """Print every setting with its value and where that comes from.

    Raises:
        StorageError: The database can't be used.
    """
    values, told = values_and_sources(dsn)
    rows = [
        {"name": name, "value": value, "source": told[name], "description": _description(name)}
        for name, value in values.model_dump(mode="json").items()
    ]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    table = Table(Column("setting", min_width=32), Column("value", overflow="fold"), "from", box=HORIZONTALS)
    for row in rows:
        table.add_row(f"[bold]{row['name']}[/]\n{row['description']}", plain(_shown(row["value"])), row["source"])
    Console().print(table)


def run_set(dsn: str | None, name: str, value: str) -> None:
    """Set one, and print what holds.

    Raises:
        SettingRefusedError: The name is unknown, or the value can't be used.
        StorageError: Nothing was changed.
    """
    _change(dsn, name, _read(name, value))


def run_unset(dsn: str | None, name: str) -> None:
    """Give one back to the environment, and print what holds.

    Raises:
        SettingRefusedError: The name is unknown, or what holds then can't be used.
        StorageError: Nothing was changed.
    """
    _change(dsn, name, None)


def run_history(dsn: str | None, *, name: str | None, limit: int, before: int | None, as_json: bool) -> None:
    """Print the latest changes.

    Raises:
        StorageError: The database can't be used.
    """
    found = with_settings_store(
        dsn, load_settings(), lambda store: store.history(name=name, limit=limit, before=before)
    )
    if as_json:
        for number, change in found:
            print(json.dumps({"number": number, **change.model_dump(mode="json")}, ensure_ascii=False))
        return
    table = Table("number", "what, when, and by whom", box=HORIZONTALS)
    for number, change in found:
        when = change.changed_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        what = f"[bold]{change.name}[/]: {plain(_shown(change.old))} → {plain(_shown(change.new))}"
        table.add_row(str(number), f"{what}\n{when} by {plain(change.changed_by)}")
    Console().print(table)


def _change(dsn: str | None, name: str, value: JsonValue) -> None:
    settings = load_settings()
    by = f"cli:{load_identities(settings).of(login_name())}"

    async def change(store: PostgresSettingsStore) -> tuple[MemorySettings, frozenset[str]]:
        return await store.change({name: value}, by=by), await store.overridden()

    with acting(operator(settings)):
        values, overridden = with_settings_store(dsn, settings, change, keys=load_user_keys(settings))
    print(f"{name} is {_shown(getattr(values, name))} ({sources(settings, overridden)[name]}).")
    if name in EMBEDDING:
        print("Servers take it when they start again.")


def _read(name: str, written: str) -> JsonValue:
    """Return what was written: JSON, else the text. What is a text by its kind is one, also where it looks like a number."""
    try:
        value: JsonValue = json.loads(written)
    except ValueError:
        return written
    schema = MemorySettings.model_json_schema()["properties"].get(name, {})
    kinds = {each.get("type") for each in (schema, *schema.get("anyOf", ()))} - {None}
    if kinds == {"string", "null"} and value is None:
        return None
    return written if "string" in kinds and not isinstance(value, str) else value


def _shown(value: object) -> str:
    """Return a value for people. None: the database says nothing."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)


def _description(name: str) -> str:
    return field_descriptions(MemorySettings)[name]


def values_and_sources(dsn: str | None) -> tuple[MemorySettings, Mapping[str, str]]:
    """Return the settings in a database, and by name where each value comes from.

    Raises:
        StorageError: The database can't be used.
    """
    settings = load_settings()

    async def read(store: PostgresSettingsStore) -> tuple[MemorySettings, frozenset[str]]:
        return await store.read(), await store.overridden()

    values, overridden = with_settings_store(dsn, settings, read)
    return values, sources(settings, overridden)


def with_settings_store(
    dsn: str | None,
    settings: Settings,
    work: Callable[[PostgresSettingsStore], Awaitable[T]],
    *,
    keys: UserKeys | None = None,
) -> T:
    """Return what `work` returns for the settings in a database. What changes them needs `keys`, for the audit trail."""

    async def run() -> T:
        async with _opened(dsn, settings, keys) as store:
            return await work(store)

    return asyncio.run(run())


@asynccontextmanager
async def _opened(dsn: str | None, settings: Settings, keys: UserKeys | None) -> AsyncIterator[PostgresSettingsStore]:
    """Yield the settings of a database without the rest of a storage, which would begin to work in it."""
    environment = environment_values(settings)
    async with resolve_dsn(dsn, settings) as found:
        await migrate(found)
        pool = make_pool(found, max_size=1)
        try:
            with storage_errors():
                await pool.open(wait=True)
            audit = None if keys is None else audit_log(pool, settings, keys)
            yield PostgresSettingsStore(pool, environment=environment, audit=audit)
        finally:
            await pool.close()
