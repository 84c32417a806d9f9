"""Serve one user over standard input and output, as clients on the same machine start it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final, cast

import anyio
from mcp.server.stdio import stdio_server

from discreet.access.actor import Actor
from discreet.errors import DiscreetError, StorageUnavailableError
from discreet.mcp.server import Context, Speaker, make_server, process_tools
from discreet.redaction.configured import default_redactor
from discreet.settings import Settings
from discreet.storage.shared import process_storage

logger = logging.getLogger(__name__)

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
"""Of a message, as over HTTP. A longer one is cut, and so is none."""

RETRY_SECONDS: Final = 5.0

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def serve_stdio(user_id: str, settings: Settings) -> None:
    """Serve `user_id` until the client closes standard input, or SIGTERM or Ctrl-C. Standard output has messages alone.

    Raises:
        StorageError: The database can't be used.
    """
    asyncio.run(_until_signalled(StdioServer(user_id, settings)))


class StdioServer:
    """Answers a client at once, while the database is still being opened: clients wait some seconds for a server to start.

    One that can't be reached is tried again, since clients don't start a server anew that has ended. Calls tell of it meanwhile.
    """

    def __init__(self, user_id: str, settings: Settings) -> None:
        """Offer the tools to `user_id`."""
        self._speaker = Speaker(user_id=user_id, actor=Actor(kind="mcp"))
        self._server = make_server(process_tools(settings, default_redactor()), self._speaker_of)
        self._tried, self._over = asyncio.Event(), asyncio.Event()
        self._away: StorageUnavailableError | None = None
        self._is_open = False

    @property
    def is_ending(self) -> bool:
        """Whether the client has ended it, and the database is being closed. Clients send SIGTERM two seconds later."""
        return self._over.is_set()

    async def serve(self) -> None:
        """Serve until standard input ends.

        Raises:
            StorageError: The database can't be used, and waiting would not help.
        """
        failure: BaseException | None = None
        try:
            # First of all: from here on what anything prints, the database's programs too, goes to standard error.
            async with (
                stdio_server(stdin=cast("anyio.AsyncFile[str]", _lines())) as (read, write),
                asyncio.TaskGroup() as group,
            ):
                holding = group.create_task(self._hold_open())
                await self._server.run(read, write, self._server.create_initialization_options())
                self._over.set()
                if not self._is_open:
                    holding.cancel()
        except* BrokenPipeError:
            pass  # the client is gone
        except* DiscreetError as failures:
            failure = failures
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        if failure is not None:
            raise failure

    async def _hold_open(self) -> None:
        while not self._over.is_set():
            try:
                async with process_storage.lease():
                    self._away, self._is_open = None, True
                    self._tried.set()
                    await self._over.wait()
            except StorageUnavailableError as error:
                logger.warning("mcp.storage_away cause=%s", error.code)
                self._away = error
                self._tried.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def _speaker_of(self, _context: Context) -> Speaker:
        await self._tried.wait()
        if self._away is not None:
            raise self._away.with_traceback(None)
        return self._speaker


async def _until_signalled(server: StdioServer) -> None:
    loop = asyncio.get_running_loop()
    serving = asyncio.create_task(server.serve())

    def stop() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)  # a second one ends the process at once
        if not server.is_ending:
            serving.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, stop)
    await asyncio.wait([serving])
    if not serving.cancelled():
        serving.result()


async def _lines() -> AsyncIterator[str]:
    """Yield the lines of standard input.

    A thread of ours reads them: the SDK's own would be waited for, so that SIGTERM could not end a process whose client keeps
    its end of the pipe open.
    """
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[bytes]()

    def read() -> None:
        with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as source, suppress(RuntimeError):  # the loop has ended
            while line := source.readline(MAX_LINE_BYTES):
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, b"")

    threading.Thread(target=read, name="discreet-mcp-stdin", daemon=True).start()
    while line := await lines.get():
        try:
            read_text = line.decode()
            json.dumps(json.loads(read_text), ensure_ascii=False).encode()  # half of a pair of surrogates is no text
        except (ValueError, RecursionError) as error:
            logger.warning("mcp.unreadable_message cause=%s bytes=%d", type(error).__name__, len(line))
        else:
            yield read_text
