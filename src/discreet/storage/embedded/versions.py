"""Which major versions have data in a data folder, and what to say if it is not the one that was asked for."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.errors import EmbeddedServerError, UpgradeNeededError
from discreet.storage.embedded.supervisor import DATA

_FOLDER = re.compile(r"postgres-(\d+)")


def folder_name(version: int) -> str:
    """Return the name of the folder of a major version."""
    return f"postgres-{version}"


def found_versions(data_dir: Path) -> list[int]:
    """Return the major versions that have data in `data_dir`, which need not exist; backups don't count."""
    named = [_FOLDER.fullmatch(path.name) for path in data_dir.glob("postgres-*") if (path / DATA).is_dir()]
    return sorted(int(match[1]) for match in named if match)


def check_version(data_dir: Path, version: int) -> None:
    """Check that no other version's data would seem to be gone.

    Raises:
        UpgradeNeededError: There is data, of an older version alone.
        EmbeddedServerError: There is data, of a newer version alone.
    """
    found = found_versions(data_dir)
    if not found or version in found:
        return
    if found[-1] > version:
        raise EmbeddedServerError(
            f"{data_dir} holds data of PostgreSQL {found[-1]}, and {version} is asked for, which can't read it. Set "
            f"DISCREET_POSTGRES_VERSION={found[-1]}."
        )
    raise UpgradeNeededError(data_dir, found[-1], version)
