"""A process that is forked from one with an open storage or saver: its own work says what to do, and the other one's goes on."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.direct("how connections are shared doesn't depend on who stands between"),
    pytest.mark.slow,  # a process of its own for each
]

HEAD = """
import asyncio, os, sys
from langgraph.graph import START, MessagesState, StateGraph
from discreet.background_loop import wait_for
from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage, open_storage_sync
from discreet.testing import StubEmbeddings

dsn, child = sys.argv[1:]
EMBEDDINGS = StubEmbeddings(dims=64)
THREAD = {"configurable": {"thread_id": "1"}}


def program(saver):
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [("ai", "yes")]})
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def told(who, work):
    try:
        work()
        print(who, "ok", flush=True)
    except Exception as error:
        print(who, type(error).__name__, flush=True)


def forked(use, close, anew):
    "Use what is open, do in a child what it is to do, and use it again."
    use()
    pid = os.fork()
    if pid == 0:
        if child == "uses":
            told("child", use)
            told("child", use)
        elif child == "closes":
            told("child's end", close)
        elif child == "opens its own":
            told("child", anew)
        elif child == "exits":
            sys.exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
    for _ in range(3):
        told("parent", use)
"""

SAVER = """
def anew():
    with RedactingSyncSaver.from_conn_string(dsn) as own:
        program(own).invoke({"messages": [("user", "hello")]}, THREAD)


with RedactingSyncSaver.from_conn_string(dsn) as saver:
    saver.setup()
    forked(lambda: program(saver).invoke({"messages": [("user", "hello")]}, THREAD), saver.inner.conn.close, anew)
"""

CONNECTION = """
import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row


def opened():
    return psycopg.connect(dsn, autocommit=True, row_factory=dict_row)


def anew():
    program(RedactingSyncSaver(PostgresSaver(opened()))).invoke({"messages": [("user", "hello")]}, THREAD)


conn = opened()
saver = RedactingSyncSaver(PostgresSaver(conn))
saver.setup()
forked(lambda: program(saver).invoke({"messages": [("user", "hello")]}, THREAD), conn.close, anew)
"""

STORAGE = """
numbers = iter(range(100))


def remember(storage):
    wait_for(storage.memories.save("ann", [MemoryRecord(text=f"Keeps {next(numbers)} parrots")]))


def anew():
    with open_storage_sync(dsn, embeddings=EMBEDDINGS) as own:
        remember(own)


with open_storage_sync(dsn, embeddings=EMBEDDINGS) as storage:
    forked(lambda: remember(storage), lambda: wait_for(storage.pool.close()), anew)
"""

ASYNC = """
async def main():
    async with RedactingSaver.from_conn_string(dsn) as saver:
        await saver.setup()

        async def use():
            await program(saver).ainvoke({"messages": [("user", "hello")]}, THREAD)

        await use()
        pid = os.fork()
        if pid == 0:
            asyncio.events._set_running_loop(None)  # as a server does whose workers have loops of their own
            if child == "uses":
                told("child", lambda: asyncio.run(use()))
            os._exit(0)
        os.waitpid(pid, 0)
        for _ in range(3):
            try:
                await use()
                print("parent ok")
            except Exception as error:
                print("parent", type(error).__name__)


asyncio.run(main())
"""

PROGRAMS = {"saver": SAVER, "one connection": CONNECTION, "storage": STORAGE, "async saver": ASYNC}
CASES = [
    (program, child)
    for program in PROGRAMS
    for child in ("uses", "closes", "opens its own", "exits", "is gone")
    if program != "async saver"
    or child == "uses"  # a loop that is left by a child ends the other one's, whatever it did
]


@pytest.mark.parametrize(("program", "child"), CASES)
def test_what_a_forked_process_does_leaves_the_other_ones_connections_alone(database, program, child):
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HEAD) + PROGRAMS[program], database, child],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = run.stdout.splitlines()
    assert [line for line in lines if line.startswith("parent")] == ["parent ok"] * 3, run.stdout + run.stderr
    of_child = {line for line in lines if line.startswith("child ")}
    expected = {"uses": {"child ForkedProcessError"}, "opens its own": {"child ok"}}
    assert of_child == expected.get(child, set())
