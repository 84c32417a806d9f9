"""A database of LangGraph's own saver, one that is adopted, and further processes that share the adopted one."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from testkit.adopting import Adopter, Said, Shown, adopted, adopted_sync, play
from testkit.scripts import run_script

from discreet.redaction.placeholder_key import default_key

Pair = Callable[..., Awaitable[tuple[Shown, Shown, Said]]]
Elsewhere = Callable[..., tuple[Shown, list[str]]]

SCRIPT = "import asyncio, sys\nfrom testkit.adopters import in_process\nasyncio.run(in_process(*sys.argv[1:]))"


@pytest.fixture(scope="session")
def stock_dsn(make_database: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    """Return a database with the tables of LangGraph's saver alone, for threads of all tests."""
    with make_database(template="template1") as dsn:
        with PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()
        yield dsn


@pytest.fixture(autouse=True)
def _words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the tests and their processes the local embedding: what they compare does not depend on it."""
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")


@pytest.fixture
def pair(stock_dsn: str, database: str) -> Pair:
    """Return what plays an adopter before and after, and returns what both showed and what was said in the second."""

    async def pair(adopter: Adopter, *, face: str = "async", **options: Any) -> tuple[Shown, Shown, Said]:
        said, stock = Said(database), Said()
        if face == "sync":
            with PostgresSaver.from_conn_string(stock_dsn) as saver:
                before = await play(adopter, stock, saver, face=face, **options)
            with adopted_sync(database, adopter.policy) as (saver, memory, _):
                after = await play(adopter, said, saver, memory, face=face, **options)
        else:
            async with AsyncPostgresSaver.from_conn_string(stock_dsn) as saver:
                before = await play(adopter, stock, saver, face=face, **options)
            async with adopted(database, adopter.policy) as (saver, memory, _):
                after = await play(adopter, said, saver, memory, face=face, **options)
        return before, after, said

    return pair


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all processes of the test the keys and the vault that several processes share (docs/vault.md)."""
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", f"first:{base64.b64encode(secrets.token_bytes(32)).decode()}")
    monkeypatch.setenv(
        "DISCREET_PLACEHOLDER_KEY", base64.b64encode(default_key()).decode()
    )  # this process has it already
    monkeypatch.setenv("DISCREET_TURN_VAULT", "postgres")


@pytest.fixture
def elsewhere(database: str) -> Elsewhere:
    """Return what plays turns of an adopter in a process of its own, and returns what was seen and warned of there."""

    def elsewhere(name: str, said: Said, *only: int) -> tuple[Shown, list[str]]:
        done = run_script(SCRIPT, database, name, said.planter.seed, said.thread, *only)
        assert done.returncode == 0, done.stderr[-3000:]
        *shown, warnings = json.loads(done.stdout)
        return Shown(*shown, raw=[]), warnings

    return elsewhere
