"""One user at a process of their own, as desktop clients and editors start it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from contextlib import contextmanager

import psycopg
import pytest

pytestmark = pytest.mark.slow

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(number, name, **arguments):
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Process:
    """The process, by its pipes."""

    def __init__(self, process):
        self.process = process

    def send(self, *messages):
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())


@pytest.fixture
def started(discreet_command, clean_environment, variables, tmp_path):
    """Return a process; what it says besides is in the file `stderr`."""

    @contextmanager
    def start(*arguments, **more):
        with (
            (tmp_path / "stderr").open("ab") as stderr,
            subprocess.Popen(
                [discreet_command, "mcp", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**clean_environment, **variables, **more},
                cwd=tmp_path,
            ) as process,
        ):
            try:
                yield Process(process)
            finally:
                process.kill()

    return start


async def test_a_client_saves_recalls_corrects_forgets_and_exports(on_stdio, token, tmp_path):
    async with on_stdio("--user", token) as session:
        saved = await session.call_tool("save_memory", {"text": "Keeps two parrots, mail ann@example.com"})
        assert saved.structured_content["text"] == "Keeps two parrots, mail <EMAIL>"
        entry = {"entry_id": saved.structured_content["entry_id"]}
        found = await session.call_tool("recall_memory", {"query": "that flying animal"})
        assert [each["entry_id"] for each in found.structured_content["memories"]] == [entry["entry_id"]]
        right = await session.call_tool("update_memory", {**entry, "text": "Keeps three parrots"})
        assert right.structured_content["updated"]
        export = (await session.call_tool("export_memories", {})).structured_content
        assert [each["data"]["text"] for each in export["records"] if each["kind"] == "memories"] == [
            "Keeps three parrots"
        ]
        assert export["after"] is None
        gone = await session.call_tool("forget_memory", entry)
        assert gone.structured_content["deleted"]
    told = (tmp_path / "stderr").read_text()
    assert "mcp.call tool=save_memory" in told
    assert "parrots" not in told
    assert "ann@example.com" not in told


async def test_it_is_the_user_of_the_other_commands(on_stdio, token, discreet_command, clean_environment, variables):
    async with on_stdio("--user", token) as session:
        await session.call_tool("save_memory", {"text": "Keeps two parrots"})
    async with on_stdio(DISCREET_DEFAULT_USER=token) as session:
        found = await session.call_tool("recall_memory", {"query": "parrots"})
        assert len(found.structured_content["memories"]) == 1
    async with on_stdio("--user", token, "--subject") as session:
        found = await session.call_tool("recall_memory", {"query": "parrots"})
        assert found.structured_content == {"memories": []}
    done = await asyncio.to_thread(
        subprocess.run,
        [discreet_command, "export", "--user", token, "--out", "-"],
        env={**clean_environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Keeps two parrots" in done.stdout
    assert '"actor_kind":"mcp"' in done.stdout


def test_who_names_nobody_is_told_what_to_do(discreet_command, clean_environment, tmp_path):
    done = subprocess.run(
        [discreet_command, "mcp"],
        env=clean_environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "discreet mcp --user NAME" in done.stderr
    assert "DISCREET_DEFAULT_USER" in done.stderr
    assert not (tmp_path / ".discreet").exists()


@pytest.mark.parametrize(
    "arguments", [["--http", "--user", "ann"], ["--user", "ann", "--port", "8090"], ["--user", "ann", "--host", "::1"]]
)
def test_options_that_do_not_go_together_are_refused(discreet_command, clean_environment, arguments, tmp_path):
    done = subprocess.run(
        [discreet_command, "mcp", *arguments], env=clean_environment, capture_output=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (2, b"")


async def test_a_database_that_is_not_there_yet_is_waited_for(on_stdio, token, empty_database, allow):
    await asyncio.to_thread(allow, "false")
    async with on_stdio("--user", token, DISCREET_POSTGRES_DSN=empty_database) as session:
        away = await session.call_tool("recall_memory", {"query": "parrots"})
        assert away.structured_content["error"]["retryable"]
        await asyncio.to_thread(allow, "true")
        assert (await retried(session, "recall_memory", query="x")).structured_content == {"memories": []}


def test_a_client_that_leaves_before_the_database_is_there_waits_for_nothing(started, token, tmp_path):
    with started("--user", token, DISCREET_POSTGRES_DSN="postgresql://nobody@127.0.0.1:1/none") as server:
        server.send(HELLO, READY, call(2, "recall_memory", query="x"))
        server.read()
        assert "DISCREET_POSTGRES_DSN" in server.read()["result"]["structuredContent"]["error"]["message"]
        server.process.stdin.close()
        assert server.process.wait(60) == 0
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_settings_that_can_not_be_used_are_one_sentence(started, tmp_path):
    with started("--user", "ann", DISCREET_IDENTITY_KEY="short") as server:
        assert server.process.wait(60) == 2
        assert server.process.stdout.read() == b""
    told = (tmp_path / "stderr").read_text()
    assert "DISCREET_IDENTITY_KEY" in told
    assert "Traceback" not in told


def test_standard_output_has_messages_alone_and_the_end_of_input_ends_it(started, token):
    with started("--user", token) as server:
        server.send(HELLO, READY, call(2, "save_memory", text="Keeps parrots"), call(3, "recall_memory", query="x"))
        answers = [server.read() for _ in range(3)]
        server.process.stdin.close()
        rest = server.process.stdout.read()
        assert server.process.wait(60) == 0
    assert rest == b""
    assert {each["id"] for each in answers} == {1, 2, 3}
    assert not any("error" in each for each in answers)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_ends_it_though_the_client_keeps_its_pipe(started, token, number):
    with started("--user", token) as server:
        server.send(HELLO, READY, call(2, "recall_memory", query="x"))
        server.read()
        server.read()
        server.process.send_signal(number)
        assert server.process.wait(60) == 0
        assert server.process.stdout.read() == b""


def test_a_client_that_is_gone_ends_it_without_a_traceback(started, token, tmp_path):
    with started("--user", token) as server:
        server.send(HELLO, READY)
        server.read()
        server.process.stdout.close()
        server.send(call(2, "recall_memory", query="x"))
        server.process.stdin.close()
        assert server.process.wait(60) in {0, 120}  # 120: Python can't flush a pipe that nobody reads
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_what_is_no_message_is_passed_over(started, token):
    with started("--user", token) as server:
        server.send(HELLO, READY)
        server.read()
        server.send(b"", b"{", b"\xff\xfe", b"null", b"[1, 2]", b'{"jsonrpc": "2.0"}', b'"' + b"x" * 5_000_000 + b'"')
        server.send(call(2, "recall_memory", query="x"))
        while (answer := server.read()).get("id") != 2:
            assert "error" in answer
        assert answer["result"]["structuredContent"] == {"memories": []}


async def test_calls_run_beside_each_other_and_one_that_is_cancelled_costs_no_other(on_stdio, token):
    async with on_stdio("--user", token) as session:
        texts = ["Keeps two parrots", "Plays the cello", "Was born in Hue", "Works as a baker"]
        saved = await asyncio.gather(*(session.call_tool("save_memory", {"text": text}) for text in texts))
        assert not any(each.is_error for each in saved)
        cancelled = asyncio.create_task(session.call_tool("recall_memory", {"query": "cello"}))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        found = await session.call_tool("recall_memory", {"query": "cello"})
        assert "Plays the cello" in [each["text"] for each in found.structured_content["memories"]]


@pytest.fixture
def allow(server_dsn, empty_database):
    """Return what lets connections into the database, or breaks them off and lets none in."""
    name = psycopg.conninfo.conninfo_to_dict(empty_database)["dbname"]

    def allow(connections):
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {connections}')
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

    return allow


async def retried(session, name, **arguments):
    """Return the result of a call that is repeated while it says that it may be."""
    for _ in range(120):
        result = await session.call_tool(name, arguments)
        if not result.is_error or not result.structured_content["error"]["retryable"]:
            return result
        await asyncio.sleep(0.5)
    return result


async def test_a_database_that_goes_away_costs_calls_and_not_the_process(on_stdio, token, empty_database, allow):
    async with on_stdio("--user", token, DISCREET_POSTGRES_DSN=empty_database) as session:
        assert not (await session.call_tool("save_memory", {"text": "Keeps parrots"})).is_error
        await asyncio.to_thread(allow, "false")
        away = await session.call_tool("recall_memory", {"query": "parrots"})
        assert away.is_error
        assert away.structured_content["error"]["retryable"]
        await asyncio.to_thread(allow, "true")
        found = await retried(session, "recall_memory", query="parrots")
        assert len(found.structured_content["memories"]) == 1


async def test_a_user_who_calls_too_often_is_told_to_wait(on_stdio, token):
    async with on_stdio("--user", token, DISCREET_MCP_CALLS_PER_MINUTE="1") as session:
        assert not (await session.call_tool("recall_memory", {"query": "x"})).is_error
        refused = await session.call_tool("recall_memory", {"query": "x"})
        assert refused.structured_content["error"]["code"] == "call_limit"
        assert refused.structured_content["error"]["retry_after_seconds"] > 0
