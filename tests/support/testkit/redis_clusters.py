"""A Redis cluster of a test's own, of the files that we deliver, and where a store or a vault is to be opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis

from testkit.ports import HOST, free_port
from testkit.redis_servers import DEPLOY, TESTER, RedisServer, Users, redis_server, until

SLOTS = 16_384

ON_CLUSTER = pytest.param("redis_cluster", marks=pytest.mark.slow)
"""The parameter of a fixture or test that runs on a cluster: its servers start for two seconds in each file."""


@dataclass
class Cluster:
    """The servers of a cluster: those that took writes at first, then their replicas."""

    servers: list[RedisServer]
    connect: Callable[[int], redis.Redis]
    """As the tester, to one server by its port."""
    users: Users | None = None

    @property
    def account(self) -> str:
        """Of the application, as a URL has it."""
        return self.users.account("discreet_app") if self.users else ""

    @property
    def hosts(self) -> str:
        """Of all servers, as a URL has them."""
        return ",".join(f"{HOST}:{server.port}" for server in self.servers)

    def url(self, account: str = "") -> str:
        """Return the URL for a user."""
        return f"redis+cluster://{account or self.account}{self.hosts}"

    def tester(self, **options: object) -> redis.RedisCluster:
        """Return a client that may do everything."""
        with self.connect(self.servers[0].port) as client:
            known = client.connection_pool.connection_kwargs
        account = {name: known[name] for name in ("username", "password") if name in known}
        return redis.RedisCluster(host=HOST, port=self.servers[0].port, protocol=2, **account, **options)

    def primary(self, key: str) -> RedisServer:
        """Return who takes writes of a key now."""
        slot = redis.crc.key_slot(key.encode())
        found = self.primary_of(slot)
        assert found is not None, f"nobody serves slot {slot}"
        return found

    def primary_of(self, slot: int) -> RedisServer | None:
        """Return which living server takes writes of a slot now."""
        living = (server for server in self.servers if server.process.poll() is None)
        return next((server for server in living if self._serves(server, slot)), None)

    def replicas_of(self, primary: RedisServer) -> list[RedisServer]:
        """Return those that follow it now."""
        with self.connect(primary.port) as client:
            ports = [int(str(each["port"])) for each in client.info("replication").values() if isinstance(each, dict)]
        return [server for server in self.servers if server.port in ports]

    def is_whole(self) -> bool:
        """Return whether all living servers know of one another, and serve all slots."""
        living = [server for server in self.servers if server.process.poll() is None]
        return all(self._info(server)["cluster_state"] == "ok" for server in living)

    def knows_failed(self, lost: RedisServer) -> bool:
        """Return whether a living server holds `lost` for gone."""
        living = next(server for server in self.servers if server.process.poll() is None)
        with self.connect(living.port) as client:
            nodes = client.execute_command("CLUSTER NODES")
        return "fail" in nodes[f"{HOST}:{lost.port}"]["flags"].split(",")

    def caught_up(self, primary: RedisServer) -> bool:
        """Return whether a replica has all that was written to a server."""
        with self.connect(primary.port) as client:
            info = client.info("replication")
        followers = [each for each in info.values() if isinstance(each, dict)]
        return any(each["state"] == "online" and each["offset"] == info["master_repl_offset"] for each in followers)

    def _serves(self, server: RedisServer, slot: int) -> bool:
        with self.connect(server.port) as client:
            mine = client.execute_command("CLUSTER MYID")
            mine = mine if isinstance(mine, str) else mine.decode()
            for first, last, primary, *_ in _ranges(client):
                if first <= slot <= last and primary == mine:
                    return True
        return False

    def _info(self, server: RedisServer) -> dict[str, str]:
        with self.connect(server.port) as client:
            return dict(client.execute_command("CLUSTER INFO"))


@dataclass(frozen=True)
class RedisPlace:
    """Where a store or a vault is to be opened, and the hands of a test on it."""

    url: str = field(repr=False)
    tester: Callable[..., redis.Redis | redis.RedisCluster] = field(repr=False)
    """May do everything; takes options of redis-py's clients."""

    @classmethod
    def of_server(cls, url: str) -> RedisPlace:
        """Of one server where the URL's user may do everything."""
        return cls(url, lambda **options: redis.Redis.from_url(url, **options))


def redis_place(request: pytest.FixtureRequest) -> RedisPlace | None:
    """Return one empty server for the parameter `redis`, a cluster as the application's user for `redis_cluster`, else None."""
    if request.param == "redis":
        return RedisPlace.of_server(request.getfixturevalue("redis_url"))
    if request.param != "redis_cluster":
        return None
    cluster: Cluster = request.getfixturevalue("redis_cluster_server")
    with cluster.tester() as client:
        client.flushall(target_nodes=redis.RedisCluster.PRIMARIES)
    return RedisPlace(cluster.url(), cluster.tester)


@contextmanager
def redis_cluster(
    folder: Path, *, replicas: int = 0, users: Users | None = None, timeout_ms: int = 15_000
) -> Iterator[Cluster]:
    """Yield a cluster of three servers that take writes, each with so many replicas, with the files that we deliver."""
    options: dict[str, object] = {"cluster-node-timeout": timeout_ms}
    tester = {}
    if users is None:
        options |= {"masteruser": "", "aclfile": ""}
    else:
        options |= {"aclfile": users.file, "masterauth": users.passwords["discreet_replica"]}
        tester = {"username": TESTER, "password": users.passwords[TESTER]}

    def connect(port: int) -> redis.Redis:
        return redis.Redis(host=HOST, port=port, decode_responses=True, protocol=2, **tester)

    files = [DEPLOY / "redis.conf", "--include", DEPLOY / "cluster.conf"]
    with ExitStack() as running:
        servers = []
        for number in range(3 * (1 + replicas)):
            own = options | {"cluster-port": free_port()}
            servers.append(running.enter_context(redis_server(folder / str(number), *files, options=own)))
        cluster = Cluster(servers, connect, users)
        _join(cluster)
        yield cluster


def _join(cluster: Cluster) -> None:
    clients = [cluster.connect(server.port) for server in cluster.servers]
    for client in clients:
        until(client.ping, "the start of a server")
    ids = [client.execute_command("CLUSTER MYID") for client in clients]
    for number, client in enumerate(clients[:3]):
        client.execute_command("CLUSTER ADDSLOTSRANGE", number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1)
        client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
    for server in cluster.servers[1:]:
        with cluster.connect(server.port) as client:
            bus = client.config_get("cluster-port")["cluster-port"]
        clients[0].execute_command("CLUSTER MEET", HOST, server.port, bus)
    for number, client in enumerate(clients[3:]):
        primary = ids[number % 3]
        until(lambda client=client, primary=primary: client.execute_command("CLUSTER REPLICATE", primary), "a replica")
    until(cluster.is_whole, "the cluster")
    if len(clients) > 3:
        until(lambda: all(map(cluster.caught_up, cluster.servers[:3])), "the replicas")
    for client in clients:
        client.close()


def _ranges(client: redis.Redis) -> Iterator[tuple[int, int, str]]:
    """Yield first slot, last slot and the id of who takes writes of them."""
    for line in client.execute_command("CLUSTER NODES").values():
        if "master" in line["flags"] and "fail" not in line["flags"].split(","):
            for first, *last in line["slots"]:
                yield int(first), int(last[0] if last else first), line["node_id"]
