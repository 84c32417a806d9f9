"""Checkpointers of both kinds over both places."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from discreet.checkpoint import RedactingSaver


def database_of(kind: str, request: pytest.FixtureRequest) -> str:
    """Return a database for a saver: without tables for LangGraph's own, whose tables `discreet migrate` doesn't make."""
    return str(request.getfixturevalue("empty_database" if kind == "postgres" else "database"))


@asynccontextmanager
async def opened_saver(kind: str, database: str) -> AsyncIterator[BaseCheckpointSaver[str]]:
    """Open LangGraph's own saver (`memory`, `postgres`) or ours (`redacting`, `redacting_postgres`)."""
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "redacting":
        yield RedactingSaver(InMemorySaver())
    else:
        made = AsyncPostgresSaver if kind == "postgres" else RedactingSaver
        # It names no user, and so it can't be the application where the database asks for one.
        owner = os.environ.get("DISCREET_POSTGRES_OWNER_DSN", database)
        async with made.from_conn_string(owner if kind == "postgres" else database) as saver:
            await saver.setup()
            yield saver
