"""The users of deploy/redis/users.acl: each does its work, and tries what is not theirs."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime

import pytest
import redis
from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError
from testkit.ports import HOST
from testkit.redis_servers import DEPLOY, TESTER, Users, redis_server, server_binary, until

from discreet.errors import RedisRefusedError, StorageUnavailableError
from discreet.ports import Round, Started, Work
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.short_term.redis_store import RedisShortTermStore
from discreet.storage.vault.redis_vault import RedisTurnVault
from discreet.testing import InMemoryKeys

WORK = Work(kind="audio", user_id="ann", ref="0f")
SAID = Round(request_id="r", input_text="hi", output_text="hello", said_at=datetime(2026, 3, 1, tzinfo=UTC))
SESSION, FOREIGN = "session:{ann}:1:state", "session:of-a-web-framework"


class Unchanged:
    def redact(self, text):
        return text


class Guarded:
    """A server with the files that we deliver."""

    def __init__(self, port, users):
        self.port = port
        self.users = users

    def url(self, name):
        return f"redis://{self.users.account(name)}{HOST}:{self.port}/0"

    def client(self, name):
        return redis.Redis(
            host=HOST,
            port=self.port,
            username=name,
            password=self.users.passwords[name],
            decode_responses=True,
            protocol=2,
            socket_timeout=10,
        )

    def store(self, name):
        return RedisShortTermStore(self.url(name), redactor=Unchanged(), sealer=FieldSealer(None))


@pytest.fixture(scope="module", params=["of the tests", "redis-server"])
def guarded(request, tmp_path_factory):
    """Return a server of the tests' own kind, and Redis of this machine where there is one."""
    binary = server_binary() if request.param == "of the tests" else shutil.which("redis-server")
    if binary is None:
        pytest.skip("no redis-server is installed")
    folder = tmp_path_factory.mktemp("guarded")
    users = Users.in_folder(folder)
    with redis_server(folder, DEPLOY / "redis.conf", binary=binary, options={"aclfile": users.file}) as server:
        made = Guarded(server.port, users)
        with made.client(TESTER) as client:
            until(client.ping, "the start of a server")
        yield made


@pytest.fixture(autouse=True)
def kept(guarded):
    """Have keys there of ours, and of somebody else."""
    with guarded.client(TESTER) as client:
        client.flushall()
        client.set(SESSION, "ACTIVE")
        client.set(FOREIGN, "theirs")


@pytest.fixture
async def store_of(guarded):
    """Return a store for a user by name."""
    made = []

    def store(name):
        made.append(guarded.store(name))
        return made[-1]

    yield store
    for each in made:
        await each.close()


async def all_of_a_turn(store):
    await store.touch("ann", "1")
    assert (await store.size()).used > 0
    assert await store.session_state("ann", "1") == "ACTIVE"
    assert await store.append_round("ann", "1", SAID)
    assert await store.recent_rounds("ann", "1") == [SAID]
    for kind in ("audio", "request", "call"):
        work = Work(kind=kind, user_id="ann", ref="0f")
        claim = await store.claim(work, lease=60.0)
        assert isinstance(claim, Started)
        assert await store.finish(work, claim.token, "answer", keep=60.0)
        other = Work(kind=kind, user_id="ann", ref="10")
        assert await store.release(other, (await store.claim(other, lease=60.0)).token)


async def test_the_application_does_all_that_there_is_to_do(guarded, store_of):
    store = store_of("discreet_app")
    await all_of_a_turn(store)
    assert await store.forget("ann") == 5
    vault = RedisTurnVault(guarded.url("discreet_app"), keys=InMemoryKeys())
    await vault.ahold("1", {"a": "b"})
    assert await vault.avalues("1") == {"a": "b"}
    await vault.adrop("1")
    await vault.close()


async def test_a_worker_runs_turns_and_lists_nobody(store_of):
    store = store_of("discreet_worker")
    await all_of_a_turn(store)
    with pytest.raises(RedisRefusedError):
        await store.forget("ann")


async def test_a_reader_reads_sessions_and_changes_nothing(store_of):
    store = store_of("discreet_reader")
    assert await store.session_state("ann", "1") == "ACTIVE"
    assert await store.recent_rounds("ann", "1") == []
    for call in (
        store.touch("ann", "1"),
        store.append_round("ann", "1", SAID),
        store.claim(WORK, lease=1.0),
        store.finish(WORK, "0", "answer"),
        store.release(WORK, "0"),
        store.forget("ann"),
        store.forget("ann", "1"),
    ):
        with pytest.raises(RedisRefusedError, match=r"docs/short_term\.md"):
            await call


REFUSED = r"(?i)no permissions|can't run this command|can't access|ACL failure|not allowed"
"""By the rights of the user, or, of DEBUG and of CONFIG in a script, to everybody."""
DANGEROUS = [
    ("FLUSHALL",), ("FLUSHDB",), ("CONFIG", "GET", "*"), ("CONFIG", "SET", "save", "1 1"), ("KEYS", "*"), ("ACL", "LIST"), ("SAVE",),
    ("BGSAVE",), ("SHUTDOWN", "NOSAVE"), ("REPLICAOF", HOST, "1"), ("MONITOR",), ("DEBUG", "SLEEP", "0"), ("SLOWLOG", "GET"),
    ("CLIENT", "LIST"), ("CLIENT", "KILL", "TYPE", "normal"), ("SCRIPT", "FLUSH"), ("RANDOMKEY",), ("PUBLISH", "channel", "words"),
    ("SUBSCRIBE", "channel"), ("CLUSTER", "RESET"), ("DUMP", SESSION), ("MIGRATE", HOST, "1", SESSION, "0", "1"), ("COPY", SESSION, "x"),
    ("RENAME", SESSION, "x"), ("PSYNC", "?", "-1"),
]  # fmt: skip
FOREIGN_KEYS = [
    ("GET", FOREIGN), ("SET", FOREIGN, "ours"), ("DEL", FOREIGN), ("TYPE", FOREIGN), ("PEXPIRE", FOREIGN, "1"), ("GET", "session:ann:history"),
    ("EVAL", f"return redis.call('GET', '{FOREIGN}')", "0"), ("EVAL", "return redis.call('GET', KEYS[1])", "1", FOREIGN),
    ("EVAL", "return redis.call('FLUSHALL')", "0"), ("EVAL", "return redis.call('CONFIG', 'GET', '*')", "0"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["discreet_app", "discreet_worker", "discreet_reader"])
@pytest.mark.parametrize("command", [*DANGEROUS, *FOREIGN_KEYS], ids=" ".join)
def test_what_is_not_ours_is_refused(guarded, name, command):
    with guarded.client(name) as client, pytest.raises(ResponseError, match=REFUSED):
        client.execute_command(*command)
    with guarded.client(TESTER) as client:
        assert client.get(FOREIGN) == "theirs"
        assert client.get(SESSION) == "ACTIVE"


def test_an_auditor_reads_all_and_changes_nothing(guarded):
    with guarded.client("discreet_auditor") as client:
        assert sorted(client.scan_iter()) == [FOREIGN, SESSION]
        assert client.get(FOREIGN) == "theirs"
        for command in (("SET", SESSION, "x"), ("DEL", SESSION), ("EVAL", "return 1", 0), *DANGEROUS):
            with pytest.raises(ResponseError, match=REFUSED):
                client.execute_command(*command)


@pytest.mark.parametrize("name", ["operator", "discreet_replica"])
def test_who_runs_the_server_and_its_replicas_open_no_key_by_name(guarded, name):
    with guarded.client(name) as client:
        for command in (("GET", SESSION), ("SET", SESSION, "x"), ("DUMP", SESSION)):
            with pytest.raises(NoPermissionError):
                client.execute_command(*command)


@pytest.mark.slow
async def test_nobody_is_let_in_without_a_name_and_its_password(guarded):
    with redis.Redis(host=HOST, port=guarded.port) as client, pytest.raises(AuthenticationError):
        client.ping()
    wrong = "tops" + "ecret"
    for account in ("", f":{wrong}@", f"default:{wrong}@", f"discreet_app:{wrong}@", f"nobody:{wrong}@"):
        url = f"redis://{account}{HOST}:{guarded.port}/0"
        store, vault = (
            RedisShortTermStore(url, redactor=Unchanged(), sealer=FieldSealer(None)),
            RedisTurnVault(url, keys=InMemoryKeys()),
        )
        with pytest.raises(RedisRefusedError, match="discreet doctor") as caught:
            await store.touch("ann", "1")
        with pytest.raises(StorageUnavailableError, match="discreet doctor") as also:
            await vault.ahold("1", {"a": "b"})
        for error in (caught.value, also.value):
            assert error.__cause__ is None
            assert not [word for word in (wrong, str(guarded.port), "nobody") if word in str(error)]
        await store.close()
        await vault.close()


def test_the_file_has_no_password_and_no_server_takes_it_as_it_is(tmp_path):
    delivered = (DEPLOY / "users.acl").read_text()
    assert delivered.splitlines()[0].split()[:3] == ["user", "default", "off"]
    assert not [word for word in delivered.split() if word.startswith(">") or word == "nopass"]
    server = redis_server(tmp_path, DEPLOY / "redis.conf", options={"aclfile": DEPLOY / "users.acl"})
    with pytest.raises(RuntimeError, match="ACL errors"):
        server.__enter__()
