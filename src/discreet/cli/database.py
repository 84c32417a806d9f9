"""`discreet database`: the embedded PostgreSQL for whatever wants a DSN."""

from __future__ import annotations

import asyncio
import signal
from typing import Final

from rich.console import Console

from discreet.cli.folders import check_data_folder
from discreet.settings import Settings, embedded_only, load_settings
from discreet.storage import open_storage

IN_PUBLIC: Final = "options=-csearch_path%3Dpublic"


def run_database() -> None:
    """Print the DSN of the embedded server on standard output, and keep the server running until Ctrl-C or SIGTERM.

    Our tables are made first. It is the DSN of the role that owns them and sees all users. What other programs create goes to the schema
    `public`: that role is named like our schema, which PostgreSQL would take otherwise.

    Raises:
        EmbeddedServerError: It can't be started.
        StorageError: The tables can't be made.
    """
    settings = embedded_only(load_settings())
    check_data_folder(settings)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with open_storage(settings=settings, maintained=False) as storage:
        print(f"{storage.access.owner.dsn}&{IN_PUBLIC}", flush=True)
        Console(stderr=True).print("The database runs until Ctrl-C.")
        await ended.wait()
