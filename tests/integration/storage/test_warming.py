"""What the first turn needs is loaded beside the opening of a storage, and delays neither that nor the end of a process."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from discreet.nodes.retrieve_memories import make_retrieve_memories
from discreet.state.context import Context
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings


class State(MessagesState):
    memories: list


class Loading(StubEmbeddings):
    """An embedding model that has to be loaded: by `load`, else with the first text."""

    def __init__(self, seconds=0.0, error=None):
        super().__init__(dims=64)
        self.seconds, self.error = seconds, error
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.is_loaded = False

    def load(self):
        with self.lock:
            self.begun.set()
            if self.error:
                raise self.error
            if not self.is_loaded:
                self.go_on.wait(self.seconds)
                self.is_loaded = True

    async def aembed_query(self, text):
        await asyncio.to_thread(self.load)
        return await super().aembed_query(text)


async def test_a_model_that_loads_takes_nothing_of_the_time_that_a_search_has(database, caplog):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    slow = Loading(seconds=1.0)
    async with open_storage(database, embeddings=slow) as storage:
        builder = StateGraph(State, context_schema=Context)
        builder.add_node("retrieve", make_retrieve_memories(memories=storage.memories, timeout=0.5))
        builder.add_edge(START, "retrieve")
        asked = {"messages": [("user", "Which parrots do I keep?")]}
        found = await builder.compile().ainvoke(asked, context=Context(user_id="ann"))
    assert slow.is_loaded
    assert [each["text"] for each in found["memories"]] == ["Keeps parrots"]
    assert "retrieve_failed" not in caplog.text


async def test_a_model_that_cannot_be_loaded_fails_no_opening_and_is_told(database, caplog):
    caplog.set_level(logging.INFO, "discreet")
    async with open_storage(database, embeddings=Loading(error=OSError("of ann@example.com"))) as storage:
        await storage.memories.ready()
    assert "storage.not_warmed step=embedding cause=OSError" in caplog.text
    assert "ann@" not in caplog.text


async def test_neither_opening_nor_closing_waits_for_a_model(database):
    stuck = Loading(seconds=60)
    try:
        began = time.monotonic()
        async with open_storage(database, embeddings=stuck) as storage:
            await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
        assert time.monotonic() - began < 30
        assert not stuck.is_loaded
    finally:
        stuck.go_on.set()


async def test_where_nothing_is_maintained_it_is_loaded_for_who_asks(database):
    asked = Loading()
    async with open_storage(database, embeddings=asked, maintained=False) as storage:
        assert not asked.begun.wait(0.2)
        await storage.memories.ready()
        assert asked.is_loaded


FORKED = """
import os, sys, time
from discreet.providers.local import local_embeddings
from discreet.storage import open_storage_sync

with open_storage_sync(sys.argv[1]):
    time.sleep(float(sys.argv[2]))
    child = os.fork()
    if child == 0:
        local_embeddings().embed_query("parrots")
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
ENDED = """
import sys, time
from discreet.storage import open_storage_sync

with open_storage_sync(sys.argv[1]):
    time.sleep(float(sys.argv[2]))
print("end")
"""


def run(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 0.3, 1.0])
def test_a_process_that_is_forked_while_a_model_loads_can_load_it(database, seconds):
    assert run(FORKED, database, seconds) == "7"


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 0.5, 1.0, 2.0])
def test_a_process_that_ends_while_a_model_loads_ends_well(database, seconds):
    assert run(ENDED, database, seconds) == "end"
