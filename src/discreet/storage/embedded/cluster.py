"""Making the cluster: initdb, its settings, and the database `discreet`."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded.endpoint import DATABASE, USER
from discreet.storage.embedded.folder import ServerFolder
from discreet.storage.embedded.supervisor import DATA

PASSWORD = "password"  # noqa: S105  # the name of a file
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
"""All that the server's programs get to see: PGDATA, PGPORT and the like of the caller must not steer them."""

_UNFINISHED = "new-"

_LOCALE = {
    # ASCII rules only, in the binaries themselves: a cluster that used a locale of this host would not open on another.
    16: ("--locale=C",),
    # The full Unicode rules, just as independent of the host; since PostgreSQL 17.
    18: ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
}

_SETTINGS = {
    # What people write must not get into the log. Errors quote values and statements, so none are logged; "log" still
    # lets start, stop and crashes through, whose DETAIL (the statement that was running) "terse" drops.
    "log_min_messages": "log",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_checkpoints": "off",
    # One user's machine, or a container with 64 MB in /dev/shm (System V segments don't count towards that; macOS
    # allows only 4 MB of those, but has no /dev/shm either).
    "shared_buffers": "128MB",
    "max_connections": "50",
    "max_wal_size": "256MB",
    "huge_pages": "off",
    "jit": "off",
    "dynamic_shared_memory_type": "sysv" if sys.platform == "linux" else "posix",
    # Nothing listens on a network.
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
}


def ensure_cluster(folder: ServerFolder, binaries: Path, version: int) -> None:
    """Make the cluster of `folder` unless it is there: synced to disk first, then renamed into place.

    Raises:
        EmbeddedServerError: One of PostgreSQL's programs failed.
    """
    folder.remove_folders(_UNFINISHED)
    if DATA in folder.names():
        return
    folder.write(PASSWORD, secrets.token_hex(24))
    name = folder.make_folder(_UNFINISHED)
    place = folder.as_seen_by_server(name)
    new_cluster = (
        *("initdb", "-D", place, "--no-sync", "--no-instructions", "--data-checksums", "--encoding=UTF8"),
        *_LOCALE[version],
        *(f"--username={USER}", "--auth=scram-sha-256", f"--pwfile={folder.as_seen_by_server(PASSWORD)}"),
        *(argument for key, value in _SETTINGS.items() for argument in ("--set", f"{key}={value}")),
    )
    _run(folder, binaries, new_cluster)
    _run(folder, binaries, ("postgres", "--single", "-D", place, "template1"), f"CREATE DATABASE {DATABASE}\n")
    _run(folder, binaries, ("initdb", "-D", place, "--sync-only"))
    os.rename(name, DATA, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
    os.fsync(folder.descriptor)


def server_command(folder: ServerFolder, binaries: Path, socket_folder: Path) -> list[str]:
    """Return what starts the server of `folder`."""
    return [str(binaries / "bin" / "postgres"), "-D", folder.as_seen_by_server(DATA), "-k", str(socket_folder)]


def _run(folder: ServerFolder, binaries: Path, command: tuple[str, ...], text: str = "") -> None:
    program, *arguments = command
    result = subprocess.run(
        [binaries / "bin" / program, *arguments],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        cwd="/",
        env=ENVIRONMENT,
        pass_fds=[folder.descriptor],
        **folder.account.identity(),
    )
    if result.returncode:
        said = [line for line in result.stdout.splitlines() if line.startswith(f"{program}:") or "FATAL" in line]
        raise EmbeddedServerError(
            f"{program} could not make a database in {folder.path} (status {result.returncode}). {' '.join(said)}"
        )
