"""deploy/redis/tls.conf: nothing but TLS, to one server and to a cluster, with and without a certificate of the client's."""

from __future__ import annotations

import shutil
from contextlib import ExitStack

import pytest
import redis
from testkit.certificates import Authority
from testkit.ports import HOST, free_port
from testkit.redis_clusters import SLOTS
from testkit.redis_servers import DEPLOY, Users, redis_server, until

from discreet.errors import ShortTermError, UnverifiedRedisError
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.short_term.redis_store import RedisShortTermStore

REDIS_SERVER = shutil.which("redis-server")
pytestmark = pytest.mark.skipif(
    REDIS_SERVER is None, reason="no redis-server is installed; the server of the tests doesn't speak TLS"
)


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def users(tmp_path):
    return Users.in_folder(tmp_path)


@pytest.fixture
def tls(tmp_path, authority, users):
    """Return what starts a server with a certificate for 127.0.0.1, and options."""
    certificate, key = authority.certify(HOST)
    with ExitStack() as running:

        def start(*files, **options):
            given = {
                "port": 0,
                "tls-port": free_port(),
                "aclfile": users.file,
                "tls-cert-file": certificate,
                "tls-key-file": key,
            }
            given |= {"tls-ca-cert-file": authority.certificate} | {
                name.replace("_", "-"): value for name, value in options.items()
            }
            arguments = [DEPLOY / "redis.conf", *(part for file in files for part in ("--include", DEPLOY / file))]
            folder = tmp_path / str(given["tls-port"])
            return running.enter_context(redis_server(folder, *arguments, binary=REDIS_SERVER, options=given))

        yield start


async def touched(url):
    store = RedisShortTermStore(url, redactor=None, sealer=FieldSealer(None))
    try:
        await store.touch("ann", "1")
        return await store.session_state("ann", "1")
    finally:
        await store.close()


def everything_at(server, users, authority):
    account = {"username": "tester", "password": users.passwords["tester"]}
    return redis.Redis(
        host=HOST, port=server.port, ssl=True, ssl_ca_certs=str(authority.certificate), protocol=2, **account
    )


async def test_nobody_speaks_without_tls(tls, users, authority):
    server = tls("tls.conf")
    account = users.account("discreet_app")
    assert await touched(f"rediss://{account}{HOST}:{server.port}/0?ssl_ca_certs={authority.certificate}") == "ACTIVE"
    with pytest.raises(ShortTermError):
        await touched(f"redis://{account}{HOST}:{server.port}/0")
    with everything_at(server, users, authority) as client:
        assert client.config_get("port") == {"port": "0"}


async def test_a_server_may_ask_for_a_certificate_too(tls, users, authority):
    server = tls("tls.conf", tls_auth_clients="yes")
    url = f"rediss://{users.account('discreet_app')}{HOST}:{server.port}/0?ssl_ca_certs={authority.certificate}"
    certificate, key = authority.certify("app.example.com")
    assert await touched(f"{url}&ssl_certfile={certificate}&ssl_keyfile={key}") == "ACTIVE"
    with pytest.raises(ShortTermError):
        await touched(url)


async def test_a_cluster_speaks_tls_and_each_of_its_servers_is_verified(tls, users, authority, tmp_path):
    servers = [tls("tls.conf", "cluster.conf", tls_cluster="yes", cluster_port=free_port()) for _ in range(3)]
    clients = [everything_at(server, users, authority) for server in servers]
    for number, client in enumerate(clients):
        client.execute_command("CLUSTER ADDSLOTSRANGE", number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1)
        client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        bus = int(client.config_get("cluster-port")["cluster-port"])
        clients[0].execute_command("CLUSTER MEET", HOST, servers[number].port, bus)
    for client in clients:
        until(lambda client=client: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok", "the cluster")
        client.close()
    hosts = ",".join(f"{HOST}:{server.port}" for server in servers)
    url = f"rediss+cluster://{users.account('discreet_app')}{hosts}"
    assert await touched(f"{url}?ssl_ca_certs={authority.certificate}") == "ACTIVE"
    other = Authority(tmp_path, "other").certificate
    for unverified in (url, f"{url}?ssl_ca_certs={other}"):
        with pytest.raises(UnverifiedRedisError, match="ssl_ca_certs="):
            await touched(unverified)


async def test_a_server_of_a_cluster_by_another_name_is_refused(tls, users, authority):
    certificate, key = authority.certify("cache.example.com")
    server = tls(
        "tls.conf",
        "cluster.conf",
        tls_cluster="yes",
        cluster_port=free_port(),
        tls_cert_file=certificate,
        tls_key_file=key,
    )
    with pytest.raises(UnverifiedRedisError, match="the host as its certificate does"):
        await touched(
            f"rediss+cluster://{users.account('discreet_app')}{HOST}:{server.port}?ssl_ca_certs={authority.certificate}"
        )
