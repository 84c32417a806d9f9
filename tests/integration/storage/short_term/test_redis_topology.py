"""A URL that takes one server for a cluster or the other way round, a cluster that is not whole, and what looks through all servers."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import redis
from pydantic import SecretStr
from testkit.ports import HOST, free_port
from testkit.redis_clusters import SLOTS
from testkit.redis_servers import TESTER, Users, redis_server, until

from discreet.cli.reach import redis_check
from discreet.errors import RedisClusterError, RedisRefusedError
from discreet.importing.history.v1 import open_v1
from discreet.rights.erasure.verifying import _values
from discreet.settings import Settings
from discreet.storage.redis import RedisClient
from discreet.storage.short_term.redis_keys import session_keys

PEOPLE = [f"person-{number}" for number in range(40)]


async def asked(url):
    client = RedisClient(url)
    try:
        await client.ping()
        return [await client.command("GET", session_keys(person, "1").state) for person in PEOPLE]
    finally:
        await client.close()


async def failing(url, error, match):
    with pytest.raises(error, match=match):
        await asked(url)
    check = await redis_check(Settings(redis_url=SecretStr(url)))
    assert check.state == "fail"
    return check.say


@pytest.mark.slow
async def test_one_server_of_a_cluster_is_not_taken_for_all_of_it(redis_cluster_server):
    cluster = redis_cluster_server
    for server in cluster.servers:  # one of them has the slot that doctor reads
        with pytest.raises(RedisClusterError, match=r"write redis\+cluster://"):
            await asked(f"redis://{cluster.account}{HOST}:{server.port}/0")


async def test_a_server_of_its_own_is_no_cluster(redis_url):
    url = redis_url.replace("redis://", "redis+cluster://")
    assert "write redis://" in await failing(url, RedisClusterError, "what is there is a server of its own")


@pytest.mark.slow
async def test_a_cluster_that_serves_no_slots_says_so(tmp_path):
    options = {"cluster-enabled": "yes", "cluster-port": free_port()}
    with redis_server(tmp_path, options=options) as server:
        say = await failing(f"redis://{HOST}:{server.port}/0", RedisClusterError, "CLUSTERDOWN")
        assert "CLUSTER INFO" in say
        await failing(f"redis+cluster://{HOST}:{server.port}", RedisClusterError, "CLUSTERDOWN")
        client = RedisClient(f"redis+cluster://{HOST}:{server.port}")
        with pytest.raises(RedisClusterError):
            await client.ping()
        with redis.Redis(host=HOST, port=server.port, protocol=2) as operator:
            operator.execute_command("CLUSTER ADDSLOTSRANGE", 0, SLOTS - 1)
            until(lambda: operator.execute_command("CLUSTER INFO")["cluster_state"] == "ok", "the cluster")
        assert await client.command("GET", session_keys("ann", "1").state) is None  # without a start of the process
        await client.close()


async def test_doctor_tells_who_is_refused_and_is_content_with_a_cluster(redis_cluster_server):
    cluster = redis_cluster_server
    check = await redis_check(Settings(redis_url=SecretStr(cluster.url())))
    assert (check.state, check.say) == ("ok", "It answers.")
    for account in ("nobody:at-all@", f"discreet_app:{'tops' + 'ecret'}@"):
        assert "docs/short_term.md" in await failing(cluster.url(account), RedisRefusedError, "WRONGPASS")


async def test_an_auditor_looks_through_all_servers_of_a_cluster(redis_cluster_server, users_of_cluster):
    with redis_cluster_server.tester() as client:
        client.flushall(target_nodes="primaries")
        for person in PEOPLE:
            client.set(session_keys(person, "1").state, "ACTIVE")
            client.hset(f"vault:{person}", "size", person)
    auditor = RedisClient(redis_cluster_server.url(users_of_cluster.account("discreet_auditor")))
    found = {key: value async for key, value in _values(auditor)}
    assert len(found) == 2 * len(PEOPLE)
    assert Counter(found.values())[b"ACTIVE"] == len(PEOPLE)
    await auditor.close()


async def test_a_history_of_version_1_is_read_from_all_servers_of_a_cluster(redis_cluster_server, users_of_cluster):
    with redis_cluster_server.tester() as client:
        client.flushall(target_nodes="primaries")
        for number, person in enumerate(PEOPLE):
            client.rpush(f"session:{person}:history", *[json.dumps({"rid": f"{each}"}) for each in range(number + 1)])
    async with open_v1(redis_cluster_server.url(users_of_cluster.account(TESTER))) as v1:
        found = await v1.histories()
        assert found.lengths == {person: number + 1 for number, person in enumerate(PEOPLE)}
        assert await v1.milliseconds_left(PEOPLE) == [-1] * len(PEOPLE)


@pytest.fixture
def users_of_cluster(redis_cluster_server):
    """Return those of the cluster that all tests share."""
    assert isinstance(redis_cluster_server.users, Users)
    return redis_cluster_server.users
