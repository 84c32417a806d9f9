"""deploy/redis/redis.conf: nothing that was said reaches a disk, in no server and on no way between two."""

from __future__ import annotations

import shutil

import pytest
import redis
from kit.places import files
from kit.search import Words, search
from testkit.ports import HOST
from testkit.redis_servers import DEPLOY, TESTER, Users, redis_server, server_binary, until


@pytest.mark.parametrize("kind", ["of the tests", "redis-server"])
def test_servers_and_their_replicas_write_nothing_down(tmp_path, kind, token):
    binary = server_binary() if kind == "of the tests" else shutil.which("redis-server")
    if binary is None:
        pytest.skip("no redis-server is installed")
    users = Users.in_folder(tmp_path)
    options = {
        "aclfile": users.file,
        "masteruser": "discreet_replica",
        "masterauth": users.passwords["discreet_replica"],
    }
    account = {"username": TESTER, "password": users.passwords[TESTER]}
    conf, first, second = DEPLOY / "redis.conf", tmp_path / "first", tmp_path / "second"
    with (
        redis_server(first, conf, binary=binary, options=options) as primary,
        redis_server(second, conf, binary=binary, options=options) as replica,
        redis.Redis(host=HOST, port=primary.port, **account) as client,
        redis.Redis(host=HOST, port=replica.port, **account) as follower,
    ):
        for each in (client, follower):
            until(each.ping, "the start of a server")
        for number in range(1_000):
            client.set(f"session:{{{number}}}:1:state", token)
        follower.set("session:{old}:1:state", token)
        follower.replicaof(HOST, primary.port)  # with all there is, over what it has
        until(lambda: follower.get("session:{999}:1:state") == token.encode(), "the replica")
        assert follower.dbsize() == 1_000
        written = [path for folder in (first, second) for path in folder.rglob("*") if path.is_file()]
        assert {path.name for path in written} == {"log"}
    after = [path for folder in (first, second) for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in after} == {"log"}
    assert search(files(tmp_path, after), Words(word=token)).leaks == {}


def test_a_full_server_refuses_and_forgets_nothing(tmp_path):
    users = Users.in_folder(tmp_path)
    options = {"aclfile": users.file, "maxmemory": "4mb"}
    with (
        redis_server(tmp_path, DEPLOY / "redis.conf", options=options) as server,
        redis.Redis(host=HOST, port=server.port, username=TESTER, password=users.passwords[TESTER]) as client,
    ):
        until(client.ping, "the start of a server")
        client.set("claim", "1", ex=60)
        with pytest.raises(redis.exceptions.OutOfMemoryError):
            fill(client)
        assert client.get("claim") == b"1"


def fill(client):
    for number in range(10_000):
        client.set(f"{number}", "x" * 10_000, ex=86_400)
