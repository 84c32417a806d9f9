"""Only where there is a cluster: DISCREET_TEST_CITUS_DSN names it, as docs/citus.md tells."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from testkit.citus import CITUS_DSN, SHARDS, Cluster


@pytest.fixture(autouse=True)
def needs_a_cluster() -> None:
    """Skip where there is none."""
    if CITUS_DSN is None:
        pytest.skip("DISCREET_TEST_CITUS_DSN names no Citus cluster (docs/citus.md)")


@pytest.fixture
def cluster() -> Cluster:
    """Return the cluster of DISCREET_TEST_CITUS_DSN."""
    return Cluster(str(CITUS_DSN))


@pytest.fixture
def empty_cluster_database(empty_database: str) -> str:
    """Return the DSN of a database without tables on all nodes, in which tables are spread over few shards."""
    return make_conninfo(empty_database, options=f"-c citus.shard_count={SHARDS}")


@pytest.fixture
def one_shard_only(database: str) -> str:
    """Return the DSN of a spread database in which a statement over several shards is an error."""
    return make_conninfo(database, options="-c citus.multi_task_query_log_level=error")


@pytest.fixture
def watching(database: str) -> Iterator[psycopg.Connection]:
    """Return a connection to the coordinator, in autocommit."""
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection
