"""`discreet upgrade`: take the embedded server's data along to a later major version of PostgreSQL."""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.errors import EmbeddedServerError
from discreet.settings import load_settings


def run_upgrade(to: int | None) -> None:
    """Upgrade to version `to`, else to the one of the settings; progress goes to standard error.

    Raises:
        EmbeddedServerError: It can't be done, or not now. The old data is still in use.
    """
    if sys.platform == "win32":
        raise EmbeddedServerError("There is no embedded PostgreSQL for Windows, and so nothing to upgrade.")
    from discreet.storage.embedded.upgrade import upgrade  # needs fcntl, which Windows lacks

    settings = load_settings()
    version = settings.postgres_version if to is None else to
    backup = upgrade(Path(settings.data_dir), version, tell=lambda line: print(line, file=sys.stderr, flush=True))
    if backup is None:
        print(
            f"There is nothing to upgrade in {settings.data_dir}: no data of an older version than {version} is in use."
        )
        return
    print(f"PostgreSQL {version} has all data. The old data is in {backup}, with all that people said: remove it soon.")
    if settings.postgres_version != version:
        print(f"Set DISCREET_POSTGRES_VERSION={version} now.")
