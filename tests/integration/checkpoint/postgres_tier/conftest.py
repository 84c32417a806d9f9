"""The durable tier by itself, behind each kind of connection that LangGraph's savers take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, Connection
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet.checkpoint.channels import PART, marked
from discreet.checkpoint.postgres import CONNECTION, AsyncPostgresTier, PostgresTier

KINDS = ["async pool", "async connection", "async pipeline", "sync pool", "sync pipeline"]


class Threads:
    """A sync tier with the async face's names, each call in a thread."""

    def __init__(self, tier: PostgresTier) -> None:
        self.tier = tier

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.tier, name.removeprefix("a"))

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return call

    async def setup(self, **kwargs: Any) -> None:
        await asyncio.to_thread(self.tier.setup, **kwargs)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        for item in await asyncio.to_thread(lambda: [*self.tier.list(*args, **kwargs)]):
            yield item


class Thread:
    """A thread as the engine would store it."""

    def __init__(self, tier: Any, thread_id: str = "1", ns: str = "") -> None:
        self.tier = tier
        self.config: dict[str, Any] = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
        self.latest = dict(self.config)
        self.ours = False
        """Whether its next checkpoints are marked as our savers mark theirs."""
        self.metadata: dict[str, Any] = {}
        """More keys of their metadata."""
        self.last: tuple[Any, ...] = ()
        """The arguments of the last put."""

    async def put(
        self, messages: Any = None, *, run_id: str | None = None, tier: Any = None, **values: Any
    ) -> Checkpoint:
        made = empty_checkpoint()
        made = marked(made, PART) if self.ours else made
        if messages is not None or not values:
            values["messages"] = messages
        made["channel_values"] = values
        new = {channel: str(uuid4()) for channel in values}
        made["channel_versions"] = {**new}
        metadata = {"source": "loop", "step": 1, **({"run_id": run_id} if run_id else {}), **self.metadata}
        self.last = (self.config, made, metadata, new)
        self.config = await (tier or self.tier).aput(*self.last)
        return made

    async def read(self, config: Any = None, tier: Any = None) -> list[BaseMessage]:
        return (await self.load(config, tier)).checkpoint["channel_values"]["messages"]

    async def load(self, config: Any = None, tier: Any = None) -> CheckpointTuple:
        found = await (tier or self.tier).aget_tuple(config or self.latest)
        assert found is not None
        return found


def _say(*texts: str) -> list[BaseMessage]:
    return [(AIMessage if n % 2 else HumanMessage)(text, id=str(uuid4())) for n, text in enumerate(texts)]


@pytest.fixture
def say() -> Callable[..., list[BaseMessage]]:
    """Return what makes messages of texts: user and model in turn, of new ids."""
    return _say


@pytest.fixture
def start() -> type[Thread]:
    """Return what makes threads."""
    return Thread


@pytest.fixture
def dsn(database: str) -> str:
    """Return the DSN that tiers and `rows` work on: all tables, no rows."""
    return database


@pytest.fixture
async def resources() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def open_tier(dsn: str, resources: AsyncExitStack) -> Callable[..., Any]:
    """Return what makes tiers over the same rows, each with connections of its own."""

    async def make(kind: str = "async pool", *, pool: dict[str, Any] | None = None, **options: Any) -> Any:
        if kind == "async pool":
            opened = AsyncConnectionPool(
                dsn, open=False, kwargs=CONNECTION, **{"min_size": 1, "max_size": 4, **(pool or {})}
            )
            return AsyncPostgresTier(AsyncPostgresSaver(await resources.enter_async_context(opened)), **options)
        if kind == "async connection":
            connection = await AsyncConnection.connect(dsn, **CONNECTION)
            return AsyncPostgresTier(AsyncPostgresSaver(await resources.enter_async_context(connection)), **options)
        if kind == "async pipeline":
            saver = AsyncPostgresSaver.from_conn_string(dsn, pipeline=True)
            return AsyncPostgresTier(await resources.enter_async_context(saver), **options)
        if kind == "sync pool":
            threads = ConnectionPool(
                dsn, open=False, kwargs=CONNECTION, **{"min_size": 1, "max_size": 4, **(pool or {})}
            )
            return Threads(PostgresTier(PostgresSaver(resources.enter_context(threads)), **options))
        if kind == "sync connection":
            return Threads(PostgresTier(PostgresSaver(resources.enter_context(Connection.connect(dsn, **CONNECTION)))))
        assert kind == "sync pipeline"
        blocking = PostgresSaver.from_conn_string(dsn, pipeline=True)
        return Threads(PostgresTier(resources.enter_context(blocking), **options))

    return make


@pytest.fixture(params=KINDS)
async def tier(request: pytest.FixtureRequest, open_tier: Callable[..., Any]) -> Any:
    """Return a tier of each kind."""
    return await open_tier(request.param)


@pytest.fixture
async def another(open_tier: Callable[..., Any]) -> Any:
    """Return a second tier over the same rows: another process."""
    return await open_tier()


@pytest.fixture
def rows(dsn: str) -> Callable[..., list[Any]]:
    """Return what looks into the database; of one column, its values."""

    def look(query: str, *params: Any) -> list[Any]:
        with psycopg.connect(dsn, autocommit=True) as connection:
            cursor = connection.execute(query, params or None)
            found = cursor.fetchall() if cursor.description else []
        return [row[0] for row in found] if found and len(found[0]) == 1 else found

    return look
