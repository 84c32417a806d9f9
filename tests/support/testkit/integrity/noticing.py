"""What a user of Discreet has against who changes the database: reading, and three commands. Nothing here remembers what was stored."""

from __future__ import annotations

import asyncio
import json
import tempfile
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from prometheus_client import REGISTRY
from typer.testing import CliRunner

from discreet.cli import app
from discreet.encryption import make_key, write_key
from discreet.errors import DiscreetError
from discreet.storage import Storage, open_storage
from testkit.integrity.rows import ANN, BOB, Rows
from testkit.keys import IDENTITY_KEY_SETTING

UNREADABLE = "discreet_unreadable_rows_total"
WORSE = ("ok", "warn", "fail")

Lend = Callable[[], AbstractContextManager[str]]
"""Lends a migrated database without rows, by its DSN."""


class Kept(Rows):
    """Something that Discreet keeps of people, with keys to seal with or without.

    An edit counts as noticed where reading anew raises an error or counts unreadable rows, or where a command finds something that it had not
    found in the empty installation: `discreet doctor`, `discreet audit verify` with the seals that were anchored in a file outside of
    the database, and with keys `discreet rekey --dry-run`.
    """

    what: ClassVar[str]

    def __init__(self, lend: Lend, *, keys: bool) -> None:
        self.name = f"{self.what}, {'with keys' if keys else 'without keys'}"
        self._lend, self._has_keys = lend, keys
        self._open = ExitStack()
        self._anchors = Path()
        self._states: dict[str, str] = {}

    def setup(self) -> None:
        self.dsn = self._open.enter_context(self._lend())
        folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="agmi-")))
        self._anchors = folder / "anchors.jsonl"
        patch = self._open.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(folder)
        patch.setenv("DISCREET_DATA_DIR", str(folder / "data"))
        patch.setenv("DISCREET_POSTGRES_DSN", self.dsn)
        patch.setenv("DISCREET_EMBEDDING_MODEL", "none")
        patch.setenv("DISCREET_IDENTITY_KEY", IDENTITY_KEY_SETTING)
        if self._has_keys:
            patch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(make_key()))
        self._states = _doctor()

    def teardown(self) -> None:
        self._open.close()

    def reload(self) -> None:
        """Do nothing: each reading opens the storage anew."""

    def seed(self, n: int) -> None:
        self._keep(ANN, range(n))

    def seed_other(self, n: int) -> None:
        self._keep(BOB, range(n))

    def append_genuine(self) -> None:
        self._keep(ANN, range(100, 101))

    def verify(self) -> bool:
        self.verify_detail = next(self._found(), None)
        return self.verify_detail is None

    @abstractmethod
    async def keep(self, storage: Storage, user: str, number: int) -> None:
        """Have one thing kept."""

    @abstractmethod
    async def read(self, storage: Storage) -> None:
        """Read all of Ann's by all ways there are."""

    def _keep(self, user: str, numbers: range) -> None:
        async def keep(storage: Storage) -> None:
            for number in numbers:
                await self.keep(storage, user, number)

        self._with_storage(keep)
        done = CliRunner().invoke(app, ["audit", "anchor", "--file", str(self._anchors)])
        assert done.exit_code == 0, done.output

    def _found(self) -> Iterator[str]:
        yield from self._by_reading()
        yield from (
            f"doctor: {name}"
            for name, state in _doctor().items()
            if WORSE.index(state) > WORSE.index(self._states.get(name, "ok"))
        )
        anchors = ["--anchor", str(self._anchors)] if self._anchors.exists() else []
        yield from _refusing("audit", "verify", *anchors)
        if self._has_keys:
            yield from _refusing("rekey", "--dry-run")

    def _by_reading(self) -> Iterator[str]:
        before = REGISTRY.get_sample_value(UNREADABLE) or 0
        try:
            self._with_storage(self.read)
        except DiscreetError as error:
            yield f"reading: {type(error).__name__}"
        if (REGISTRY.get_sample_value(UNREADABLE) or 0) > before:
            yield "reading: unreadable rows are counted"

    def _with_storage(self, work: Callable[[Storage], Awaitable[Any]]) -> None:
        async def run() -> None:
            async with open_storage(self.dsn, maintained=False) as storage:
                await work(storage)

        asyncio.run(run())


def _doctor() -> dict[str, str]:
    done = CliRunner().invoke(app, ["doctor", "--json"])
    return {each["name"]: each["state"] for each in json.loads(done.stdout)["checks"]}


def _refusing(*command: str) -> Iterator[str]:
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code in (0, 1), done.output
    if done.exit_code:
        yield " ".join(command[:2])
