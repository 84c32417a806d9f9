"""Databases on a Citus cluster: made on all of its nodes, and cloned there, which takes a fraction of spreading anew."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo

CITUS_DSN = os.environ.get("DISCREET_TEST_CITUS_DSN")
"""Of a database of the coordinator of a cluster, as a superuser; None: there is none to test with."""

KILLS = os.environ.get("DISCREET_TEST_CITUS_KILLS") == "true"
"""Whether a test may kill a worker and start it again: nobody else uses that cluster, and it is on this machine."""

SHARDS = 4
"""Of a table: enough to be on every node more than once, and few enough to be cloned in a moment."""

Node = tuple[str, int]
"""Host and port."""


class Cluster:
    """The nodes of a cluster, reached as a superuser. Databases made here are dropped here."""

    def __init__(self, dsn: str) -> None:
        """Take the DSN of any database of the coordinator."""
        self._dsn = dsn
        with psycopg.connect(dsn, autocommit=True) as connection:
            self.coordinator: Node = (connection.info.host, connection.info.port)
            found = connection.execute("SELECT nodename, nodeport FROM pg_dist_node WHERE groupid <> 0 ORDER BY nodeid")
            self.workers: list[Node] = [(host, port) for host, port in found]

    def dsn_of(self, name: str, node: Node | None = None) -> str:
        """Return the DSN of a database of a node, of the coordinator by default."""
        host, port = node or self.coordinator
        user, _, _ = urlsplit(self._dsn).netloc.rpartition("@")
        return f"postgresql://{user}{'@' if user else ''}{host}:{port}/{name}"

    @contextmanager
    def new_database(self, *, template: str | None = None) -> Iterator[str]:
        """Make a database on every node, drop it afterwards whoever is connected; yield its name.

        It is a clone of `template`, with its shards, or has the extensions and knows the nodes, and is empty.
        """
        name = f"test_{uuid4().hex}"
        self._on_every_node(f"CREATE DATABASE {name} TEMPLATE {template or 'template0'}")
        try:
            if template is None:
                self._make_one_of_all(name)
            yield name
        finally:
            self._drop(name)

    @contextmanager
    def spread_template(self) -> Iterator[str]:
        """Make a database with our tables, spread; yield its name. Nobody can connect to it, so that it can be cloned."""
        from discreet.storage.database.migrating.distribute import distribute
        from discreet.storage.database.migrating.migrations import migrate

        with self.new_database() as name:
            asyncio.run(migrate(self.dsn_of(name)))
            asyncio.run(distribute(make_conninfo(self.dsn_of(name), options=f"-c citus.shard_count={SHARDS}")))
            self.shut(name)
            yield name

    def shut(self, name: str) -> None:
        """Let nobody connect to a database any more, Citus' own processes neither."""
        self._on_every_node(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        self._on_every_node(f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '{name}'")

    def _drop(self, name: str) -> None:
        self.shut(name)
        for attempt in range(10):
            try:
                return self._on_every_node(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            except psycopg.errors.ObjectInUse:  # what Citus had just begun in the background ends by itself
                time.sleep(0.1 * attempt)
        raise RuntimeError(f"The database {name} stays in use.")

    def _make_one_of_all(self, name: str) -> None:
        for node in (self.coordinator, *self.workers):
            with psycopg.connect(self.dsn_of(name, node), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION citus")
                connection.execute("CREATE EXTENSION vector")
        with psycopg.connect(self.dsn_of(name), autocommit=True) as connection:
            connection.execute("SELECT citus_set_coordinator_host(%s, %s)", self.coordinator)
            for worker in self.workers:
                connection.execute("SELECT citus_add_node(%s, %s)", worker)

    def _on_every_node(self, statement: str) -> None:
        for node in (self.coordinator, *self.workers):
            with psycopg.connect(self.dsn_of("postgres", node), autocommit=True) as connection:
                connection.execute("SET client_min_messages = error")  # Citus warns that this reaches one node
                connection.execute(statement.encode())
