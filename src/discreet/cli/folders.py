"""Tell before a command starts that a folder can't be written to."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.settings import Settings


def check_data_folder(settings: Settings) -> None:
    """Check that the embedded database and its keys can be kept, where no other database is named.

    Raises:
        ConfigurationError: The data folder can't be written to, or can't be made.
    """
    if settings.postgres_dsn is None:
        step = "Set DISCREET_DATA_DIR to a folder that can be, or DISCREET_POSTGRES_DSN to a database of yours."
        check_writable(settings.data_dir, step=step)


def check_writable(folder: Path, *, step: str) -> None:
    """Check that files can be made in `folder`, or the folder itself where it is missing. Nothing is changed.

    Raises:
        ConfigurationError: They can't. The sentence says where, and `step`, which is what to do.
    """
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise ConfigurationError(f"{there} is no folder. {step}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ConfigurationError(f"The folder {there} can't be written to. {step}")
