"""Run coroutines from a command that also waits for keys and child processes in its main thread."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass

from rich.console import Console

from discreet.access.actor import Actor
from discreet.access.identity import load_identities
from discreet.cli.folders import check_data_folder
from discreet.settings import Settings, load_settings
from discreet.storage import Storage, open_storage


@dataclass(frozen=True)
class Session:
    """An open storage and the event loop that it lives on."""

    storage: Storage
    runner: asyncio.Runner


@contextmanager
def opened_storage(console: Console) -> Iterator[Session]:
    """Open the storage, with a note on the console while that takes its time.

    Raises:
        ConfigurationError: The data folder can't be written to.
        StorageError: The database can't be used.
    """
    settings = load_settings()
    check_data_folder(settings)
    where = "your PostgreSQL" if settings.postgres_dsn else f"the embedded database in {settings.data_dir}"
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        with console.status(f"Starting {where}…"):
            storage = runner.run(stack.enter_async_context(open_storage(settings=settings)))
        try:
            yield Session(storage, runner)
        finally:
            runner.run(stack.aclose())


def operator(settings: Settings) -> Actor:
    """Return who acts at this command line, by a pseudonym of their login name."""
    return Actor(kind="operator", identity=load_identities(settings).of(login_name()))


def login_name() -> str:
    """Return the name that the person is logged in with, `local` where there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "local"
