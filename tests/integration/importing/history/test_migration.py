"""A team's whole way from V1's history to ours and back, by the commands, while their application talks with its users."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections import defaultdict
from contextlib import asynccontextmanager
from functools import partial
from random import Random

import psycopg
import pytest
from testkit.keys import USER_KEYS
from testkit.scripts import ScriptProcess, run_script

from discreet.importing.history import DualWriter, HistoryReader
from discreet.importing.history.reading import ROUNDS
from discreet.redaction import Redactor
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.slow

USERS = 300
COMMAND = "from discreet.cli import main; main()"
COUNT = "SELECT count(*) FROM discreet.conversation_log"
TEXTS = [
    "My e-mail is {}@example.org",
    "阿公今天有點喘，電話 0912-345-678",
    "I slept badly, {}",
    "血氧 94，我是 {}",
    "Call me at +1 415 555 0132",
    "Nothing new, {}",
]
ANSWERS = ["好的，我記下來了。", "I'll write to {}@example.org.", "Please rest."]


class App:
    """The team's application: V1's code, and ours beside it. It writes all the time, and checks what it reads."""

    def __init__(self, v1, storage, *, redis_url, seed, users):
        self.v1 = v1
        self.writer = DualWriter(storage)
        self.reader = HistoryReader(storage, redis_url)
        self.seed = seed
        self.users = users
        self.random = Random(seed)
        self.turns = 0
        self.stopping = asyncio.Event()

    async def talk(self):
        try:
            while not self.stopping.is_set():
                await self.turn()
                await asyncio.sleep(0.03)
        finally:
            await self.writer.aclose()
            await self.reader.aclose()

    async def turn(self):
        user_id = self.random.choice(self.users)
        number = f"{self.seed}-{self.turns}"  # V1 itself drops a message that comes again within seconds, by its rid
        said = self.v1.say(user_id, text_for(self.random, number), answer=answer_for(self.random, number))
        await self.writer.append_round(user_id, said)
        self.turns += 1
        assert said["rid"] in {each.get("rid") for each in await self.reader.fetch(user_id)}


def text_for(random, number):
    return random.choice(TEXTS).format(f"zanzibarine{number}") + f" ({number})"


def answer_for(random, number):
    return random.choice(ANSWERS).format(f"zanzibarine{number}")


@pytest.fixture
def commands(database, redis_url, tmp_path, monkeypatch):
    """Return what runs `discreet migrate-history` in a process of its own: exit code, and what it printed."""
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("DISCREET_POSTGRES_DSN", database)
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "100")

    async def run(command, *arguments, code=0):
        urls = () if command in {"rollback", "finish"} else (redis_url,)
        done = await asyncio.to_thread(run_script, COMMAND, "migrate-history", command, *urls, *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        assert "zanzibarine" not in done.stdout + done.stderr
        return done.stdout

    return run


@asynccontextmanager
async def applications(v1, database, redis_url, count=3):
    """Yield applications that talk, each with a storage of its own as processes have it."""
    users = [f"U{number}" for number in range(USERS)]
    async with asyncio.TaskGroup() as group:
        apps = []
        for seed in range(count):
            opened = open_storage(database, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), maintained=False)
            ready: asyncio.Future[App] = asyncio.get_running_loop().create_future()
            group.create_task(_talking(opened, partial(App, v1, redis_url=redis_url, seed=seed, users=users), ready))
            apps.append(await ready)
        try:
            yield apps
        finally:
            for app in apps:
                app.stopping.set()


async def _talking(opened, make, ready):
    async with opened as storage:
        app = make(storage)
        ready.set_result(app)
        await app.talk()


async def _follow(apps, phase):
    """Wait until all applications are at a phase."""
    for _ in range(200):
        if {app.reader._storage.memory_settings.live.history_migration for app in apps} == {phase}:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"not at {phase}")


def in_redis(v1):
    """Return the rounds of all users by request id."""
    found = defaultdict(dict)
    for user in range(USERS):
        for item in v1.redis.lrange(f"session:U{user}:history", 0, -1):
            if "no JSON" in item or (said := json.loads(item)).keys() == {"input"}:
                continue  # as they were planted
            found[f"U{user}"][said["rid"]] = said
    return found


def query(database, statement, *given):
    with psycopg.connect(database) as connection:
        cursor = connection.execute(statement, given)
        return cursor.fetchall() if cursor.description else cursor.rowcount


def redacted(said):
    redact = Redactor().redact
    return {**said, "input": redact(said["input"]), "output": redact(said["output"])}


async def test_the_whole_way(v1, database, redis_url, commands, tmp_path):
    random = Random(1)
    for user in range(USERS):
        for number in range(random.randint(2, 14)):
            ago = random.randint(300, 80_000) if number == 0 else 290 - number
            v1.say(f"U{user}", text_for(random, number), answer=answer_for(random, number), ago=ago)
    v1.redis.rpush("session:U7:history", "zanzibarine, but no JSON", json.dumps({"input": "zanzibarine"}))

    async with applications(v1, database, redis_url) as apps:
        plan = json.loads(await commands("plan", "--json"))
        assert (plan["phase"], plan["users"], plan["there"]) == ("off", USERS, 0)
        assert plan["unreadable"] == {"not JSON": 1, "output: no text": 1}
        assert plan["rounds"] >= 300
        assert 80_000 < plan["seconds_left_least"] <= 86_400
        assert query(database, COUNT) == [(0,)]
        assert "dual-write" in await commands("plan")

        await _killed_and_begun_anew(commands, database, redis_url, plan["rounds"], tmp_path / "bad.jsonl")
        await _a_mismatch_of_each_kind(commands, v1, database)
        assert all(app.reader._storage.memory_settings.live.history_migration == "dual_write" for app in apps)
        await _there_and_back(commands, v1, apps)

    theirs = in_redis(v1)
    stored = query(database, "SELECT request_id, input_text, output_text FROM discreet.conversation_log")
    expected = [
        (said["rid"], redacted(said)["input"], redacted(said)["output"])
        for rounds in theirs.values()
        for said in rounds.values()
    ]
    assert sorted(stored) == sorted(expected)
    assert query(database, "SELECT sum(rounds) FROM discreet.session_record")[0][0] >= len(expected)
    history = query(
        database, "SELECT old, new FROM discreet.setting_change WHERE name = 'history_migration' ORDER BY change_id"
    )
    assert [new for _, new in history] == ["dual_write", "switched", "dual_write", "switched"]
    assert query(database, "SELECT count(*) FROM discreet.audit_entry WHERE action = 'setting.change'") == [(4,)]
    await commands("finish")
    await commands("rollback", code=2)


async def _killed_and_begun_anew(commands, database, redis_url, rounds, bad_rows):
    """Kill a copying command in the middle, and run it again."""
    with ScriptProcess(COMMAND, "migrate-history", "dual-write", redis_url) as killed:
        while query(database, COUNT)[0][0] < rounds // 3:
            assert killed.poll() is None
            await asyncio.sleep(0.01)
        killed.kill()
        assert killed.wait(10) == -signal.SIGKILL
    assert query(database, COUNT)[0][0] < rounds
    copied = json.loads(await commands("dual-write", "--json", "--bad-rows", str(bad_rows), code=1))
    assert copied["there"] >= rounds // 3
    assert (copied["bad"], copied["erased"]) == (2, 0)
    bad = [json.loads(line) for line in bad_rows.read_text().splitlines()]
    assert [each["reason"] for each in bad] == ["not JSON", "output: no text"]
    assert bad_rows.stat().st_mode & 0o777 == 0o600


async def _a_mismatch_of_each_kind(commands, v1, database):
    """See that each is told, that nothing is switched then, and that copying mends what it can."""
    assert "Equal" in await commands("validate", "--seed", 5)
    planted = {user: next(iter(rounds)) for user, rounds in [*in_redis(v1).items()][:3]}
    (u_text, text), (u_order, order), (u_missing, missing) = planted.items()
    change = "UPDATE discreet.conversation_log SET {} WHERE request_id = %s"
    query(database, change.format("input_text = 'zanzibarine'"), text)
    query(database, change.format("started_at = started_at + interval '2 s'"), order)
    query(database, change.format("request_id = 'planted'"), missing)
    told = json.loads(await commands("validate", "--users", USERS, "--patience", 3, "--json", code=1))
    assert {each.pop("user"): each for each in told["mismatches"]} == {
        str(USER_KEYS.of_user(u_text)): {"text": 1},
        str(USER_KEYS.of_user(u_order)): {"order": 1},
        str(USER_KEYS.of_user(u_missing)): {"missing": 1, "extra": 1},
    }
    table = await commands("validate", "--users", USERS, "--patience", 1, code=1)
    assert str(USER_KEYS.of_user(u_order)) in table
    assert not re.search(r"\bU\d+\b", table)
    assert "differ" in await commands("switch", "--users", USERS, "--patience", 1, code=1)
    assert query(database, "SELECT value FROM discreet.setting") == [("dual_write",)]
    query(database, "DELETE FROM discreet.conversation_log WHERE request_id = 'planted'")
    assert "0 rounds" not in await commands("dual-write", code=1)
    told = json.loads(await commands("validate", "--users", USERS, "--patience", 1, "--json", code=1))
    assert sorted(kind for each in told["mismatches"] for kind in each.keys() - {"user"}) == ["order", "text"]
    assert "2 repaired" in await commands("dual-write", "--repair", code=1)
    assert "Equal" in await commands("validate", "--users", USERS)


async def _there_and_back(commands, v1, apps):
    """Switch what is read, without a restart, and back, and again."""
    for command, phase in (("switch", "switched"), ("rollback", "dual_write"), ("switch", "switched")):
        turns = sum(app.turns for app in apps)
        assert json.loads(await commands(command, "--json")) == {"history_migration": phase}
        await _follow(apps, phase)
        assert sum(app.turns for app in apps) > turns
        await _reads_are_equal(v1, apps[0].reader, ours=phase == "switched")


async def _reads_are_equal(v1, reader, *, ours):
    """See for a sample that the reader returns what V1 would; redacted where it is ours. Users speak meanwhile."""
    for user in range(0, USERS, 6):
        for _ in range(20):
            theirs = v1.fetch_unsummarized_tail(f"U{user}", ROUNDS)
            found = await reader.fetch(f"U{user}")
            theirs = [each for each in theirs if "output" in each]
            if found == ([redacted(each) for each in theirs] if ours else theirs):
                break
            await asyncio.sleep(0.2)
        else:
            raise AssertionError(f"U{user} differs")


async def test_a_team_that_cant_change_its_code_follows(v1, database, redis_url, commands):
    v1.say("U1", "zanzibarine", ago=9)
    with ScriptProcess(COMMAND, "migrate-history", "dual-write", redis_url, "--follow", "--json") as following:
        assert json.loads(await asyncio.to_thread(following.stdout.readline)) == {
            "written": 1, "there": 0, "doubled": 0, "repaired": 0, "kept": 0, "busy": 0, "erased": 0, "bad": 0,
            "unreadable_keys": {},
        }  # fmt: skip
        for user_id in ("U1", "U2"):
            v1.say(user_id, "zanzibarine again", ago=8)
            assert json.loads(await asyncio.to_thread(following.stdout.readline))["written"] == 1
        os.kill(following.pid, signal.SIGTERM)
        assert await asyncio.to_thread(following.wait, 20) == 0
    assert "Equal" in await commands("validate")


async def test_what_differs_is_told_with_what_mends_it_and_mended(v1, database, commands):
    said = v1.say("U1", "zanzibarine", ago=9)
    v1.redis.rpush(b"session:\xffzanzibarine:history", "x")
    told = "1 keys can't be read (1 not UTF-8)"
    assert json.loads(await commands("plan", "--json"))["unreadable_keys"] == {"key: not UTF-8": 1}
    assert "keys that can't be read: not UTF-8" in await commands("plan")
    assert told in await commands("dual-write", code=1)
    assert told in await commands("validate")
    v1.redis.lset("session:U1:history", 0, json.dumps({**said, "is_emergency": True}))
    for command in ("validate", "switch"):
        assert "--repair" in (await commands(command, "--patience", 0, code=1)).split("emergency (1):")[1]
    assert "1 repaired" in await commands("dual-write", "--repair", code=1)
    assert told in await commands("switch")


async def test_a_file_that_is_there_is_not_taken_for_bad_rows(v1, database, commands, tmp_path):
    v1.redis.rpush("session:U1:history", "zanzibarine")
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    await commands("dual-write", "--bad-rows", str(precious), code=2)
    assert precious.read_text() == "precious"
    assert query(database, COUNT) == [(0,)]


async def test_commands_out_of_order_say_what_to_do(commands):
    for command in ("rollback", "finish", "switch --force"):
        done = await asyncio.to_thread(run_script, COMMAND, "migrate-history", *command.split())
        assert done.returncode == 2
        assert "dual-write" in done.stderr
    done = await asyncio.to_thread(run_script, COMMAND, "migrate-history", "plan", "redis://127.0.0.1:1/0")
    assert (done.returncode, "Redis" in done.stderr) == (2, True)
    assert "Nothing" in await commands("validate", code=1)
    assert "Nothing" in await commands("switch", code=1)
    done = await asyncio.to_thread(run_script, COMMAND, "migrate-history", "validate")
    assert (done.returncode, "REDIS_URL" in done.stderr) == (2, True)
