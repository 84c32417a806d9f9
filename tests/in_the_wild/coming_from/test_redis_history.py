"""docs/coming_from/redis_history.md: the change in an application's two functions, and the commands in the page's order.

What happens to them under load, and when things fail, is in tests/integration/importing/history.
"""

from __future__ import annotations

import json
import re
import stat
import time
from contextlib import closing
from typing import Any

import psycopg
import pytest
import redis
from testkit.coming_from import EMAIL, PHONE, Page, raw_in, redacted

from discreet.importing.history import DualWriter, HistoryReader
from discreet.storage import open_storage_sync

PAGE = Page("redis_history.md")
ROUNDS = [(f"Write to {EMAIL}", "I shall."), ("I slept badly", "Please rest."), (f"Call {PHONE}", f"{PHONE}, noted.")]


def said(number: int) -> dict[str, Any]:
    given, answered = ROUNDS[number]
    at = int(time.time() * 1000) - 60_000 + number * 1000
    return {"input": given, "output": answered, "rid": f"r{number}", "timestamp": at, "is_emergency": number == 1}


def masked(rounds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "input": redacted(each["input"]), "output": redacted(each["output"])} for each in rounds]


@pytest.fixture
def client(redis_url):
    with redis.Redis.from_url(redis_url, decode_responses=True) as opened:
        yield opened


@pytest.fixture
def functions(client):
    """Return the application's functions as the page has them, before or after."""

    def tail(user_id: str, k: int) -> list[dict[str, Any]]:
        return [json.loads(each) for each in client.lrange(f"session:{user_id}:history", -k, -1)]

    def made(side, **more):
        given = {"json": json, "get_redis": lambda: client, "fetch_unsummarized_tail": tail, **more}
        names = PAGE.functions(side, **given)
        return names["append_round"], names["fetch_conversation_history"]

    return made


@pytest.mark.slow
def test_the_page_from_its_first_command_to_its_last(client, functions, redis_url, database, terminal):
    append, fetch = functions("before")
    for user in ("U1", "U2"):
        for number in range(2):
            append(user, said(number))
    client.rpush("session:U2:history", "no JSON")
    was = _copied(client)["session:U2:history"]

    url = "redis://127.0.0.1:6397/0"
    commands = PAGE.commands(**{url: redis_url})
    names = [words[1] for words in commands]
    assert names == ["plan", "dual-write", "validate", "switch", "rollback"]
    plan, dual_write, validate, switch, rollback = commands

    labels = re.findall(r"^([a-z].*?)  +\S", PAGE.text.split("migrate-history plan")[1].split("…")[0], re.MULTILINE)
    told = terminal.run(*plan)
    assert len(labels) == 11
    assert all(re.search(f"^{re.escape(label)}  ", told, re.MULTILINE) for label in labels)

    with (
        open_storage_sync(database) as storage,
        closing(DualWriter(storage)) as writer,
        closing(HistoryReader(storage, redis_url)) as reader,
    ):
        append, fetch = functions("after", writer=writer, reader=reader)
        append("U3", said(0))  # before the migration begins
        assert fetch("U3", 6) == [json.loads(client.lrange("session:U3:history", 0, -1)[0])]
        assert _logged(database) == []

        told = terminal.run(*dual_write, code=1)
        assert told.startswith("5 rounds copied, 0 were there. 1 ")
        (bad,) = terminal.folder.rglob("bad-rows/history.jsonl")
        assert _without_numbers(told.replace(str(bad.parents[1]), ".discreet")) == _shown("dual-write")
        assert stat.S_IMODE(bad.stat().st_mode) == 0o600
        _until(lambda: storage.memory_settings.live.history_migration == "dual_write")
        append("U1", said(2))
        _until(lambda: len(_logged(database)) == 6)
        told = terminal.run(*validate)
        assert told.startswith("Equal: 6 rounds of 3 users compared.")
        assert _without_numbers(told) == _shown("validate")
        theirs = fetch("U1", 6)
        assert [each["input"] for each in theirs] == [given for given, _ in ROUNDS]

        for command, phase, read in ((switch, "switched", masked(theirs)), (rollback, "dual_write", theirs)):
            assert _without_numbers(terminal.run(*command)) == _shown(command[1])
            _until(lambda phase=phase: storage.memory_settings.live.history_migration == phase)
            assert fetch("U1", 6) == read
        terminal.run(*switch)
        terminal.run("migrate-history", "finish")
        terminal.run("migrate-history", "rollback", code=2)
    assert _copied(client)["session:U2:history"] == was
    assert raw_in(database) == []
    assert "history_migration" in terminal.run("settings", "history")


def test_the_snippet_of_the_process(client, redis_url, database):
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, PAGE.name, "exec"), names)
    given = said(0)
    client.rpush("session:U123:history", json.dumps(given))
    assert names["main"](database, redis_url, given) == [given]


@pytest.mark.slow
def test_a_history_is_taken_over_once(client, redis_url, database, terminal):
    for number in range(3):
        client.rpush("session:U1:history", json.dumps(said(number)))
    assert "`discreet import` is\nenough" in PAGE.text or "`discreet import` is enough" in PAGE.text
    assert "3 rows of 1 users settled (" in terminal.run("import", "redis", redis_url)
    assert len(_logged(database)) == 3
    assert raw_in(database) == []


def _shown(command: str) -> str:
    """Return the line of output that the page has for a command, without its numbers."""
    return _without_numbers(PAGE.text.split(f"$ discreet migrate-history {command}", 1)[1].split("\n")[1])


def _without_numbers(line: str) -> str:
    return re.sub(r"\d[\d,]*", "#", line.strip())


def _copied(client: Any) -> dict[str, list[str]]:
    return {key: client.lrange(key, 0, -1) for key in client.keys("session:*:history")}


def _logged(dsn: str) -> list[tuple[str, str]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute("SELECT request_id, thread_key::text FROM discreet.conversation_log").fetchall()


def _until(holds: Any) -> None:
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("It never came to that.")
