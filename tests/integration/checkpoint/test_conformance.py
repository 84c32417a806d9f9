"""LangGraph's official suite, every capability, over every kind of saver: as it is, and without any scratch tier."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance.initializer import checkpointer_test
from langgraph.checkpoint.conformance.report import CapabilityReport
from langgraph.checkpoint.conformance.validate import validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from discreet.checkpoint import KEEP, RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.channels import is_engine_channel
from discreet.testing import conformance_policy

METHODS = ("put", "put_writes", "get_tuple", "list", "delete_thread", "delete_for_runs", "copy_thread", "prune")
TESTS = 81
"""Of all capabilities in langgraph-checkpoint-conformance 0.0.2."""


class Forgets:
    """Forgets its scratch tier before every call, as a process that has just started."""

    def __getattribute__(self, name: str) -> Any:
        if name.removeprefix("a") in METHODS:
            for thread_id in self._scratch.thread_ids():
                self._scratch.drop(thread_id)
        return super().__getattribute__(name)


class Forgetful(Forgets, RedactingSaver):
    """Has nothing but its durable tier."""


def through(method: str) -> Any:
    async def call(self, *args, **options):
        return getattr(self, method)(*args, **options)

    return call


class SyncApi(RedactingSyncSaver):
    """Calls the blocking methods, for a suite that awaits."""

    aput = through("put")
    aput_writes = through("put_writes")
    aget_tuple = through("get_tuple")
    adelete_thread = through("delete_thread")
    adelete_for_runs = through("delete_for_runs")
    acopy_thread = through("copy_thread")
    aprune = through("prune")

    async def alist(self, *args, **options):
        for item in self.list(*args, **options):
            yield item


class ForgetfulSyncFace(Forgets, SyncApi):
    """Both."""


KINDS = (RedactingSaver, Forgetful, SyncApi, ForgetfulSyncFace)


@asynccontextmanager
async def in_memory(kind: Any, request: pytest.FixtureRequest) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    yield kind(InMemorySaver(), policy=conformance_policy())


@asynccontextmanager
async def over_sqlite(kind: Any, request: pytest.FixtureRequest) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    path = str(request.getfixturevalue("tmp_path") / "checkpoints.sqlite")
    if issubclass(kind, RedactingSyncSaver):
        with SqliteSaver.from_conn_string(path) as inner:
            yield kind(inner, policy=conformance_policy())
    else:
        async with AsyncSqliteSaver.from_conn_string(path) as inner:
            yield kind(inner, policy=conformance_policy())


@asynccontextmanager
async def over_postgres(kind: Any, request: pytest.FixtureRequest) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    dsn = request.getfixturevalue("database")
    if issubclass(kind, RedactingSyncSaver):
        with kind.from_conn_string(dsn, conformance_policy()) as saver:
            saver.setup()
            yield saver
    else:
        async with kind.from_conn_string(dsn, conformance_policy()) as saver:
            await saver.setup()
            yield saver


async def report(name: str, opened: AbstractAsyncContextManager[BaseCheckpointSaver[Any]]) -> CapabilityReport:
    async with opened as saver:

        @checkpointer_test(name=name)
        async def factory():
            yield saver

        return await validate(factory)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("over", [in_memory, over_sqlite, over_postgres], ids=lambda over: over.__name__)
async def test_every_capability_conforms(over, kind, request):
    found = await report(f"{kind.__name__} {over.__name__}", over(kind, request))
    assert [failure for result in found.results.values() for failure in result.failures or []] == []
    assert [name for name, result in found.results.items() if not result.detected] == []
    assert sum(result.tests_passed for result in found.results.values()) == TESTS


async def test_the_policy_names_what_the_suite_puts_and_nothing_else():
    channels: set[str] = set()
    metadata: set[str] = set()

    class Notes(InMemorySaver):
        async def aput(self, config, checkpoint, given, new_versions):
            channels.update(checkpoint["channel_values"])
            metadata.update(given)
            return await super().aput(config, checkpoint, given, new_versions)

        async def aput_writes(self, config, writes, *args):
            channels.update(channel for channel, _ in writes)
            await super().aput_writes(config, writes, *args)

        async def adelete_for_runs(self, run_ids):
            """Be tested for it."""

        async def acopy_thread(self, source_thread_id, target_thread_id):
            """Be tested for it."""

        async def aprune(self, thread_ids, *, strategy="keep_latest"):
            """Be tested for it."""

    @asynccontextmanager
    async def noted():
        yield Notes()

    found = await report("what the suite puts", noted())
    assert all(result.detected for result in found.results.values())
    policy = conformance_policy()
    assert set(policy.channels) == {channel for channel in channels if not is_engine_channel(channel)}
    assert set(policy.metadata) == metadata - {"source", "step", "parents"}
    assert policy.messages == ()
    assert set(policy.channels.values()) == set(policy.metadata.values()) == {KEEP}
