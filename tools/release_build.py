"""Build wheel and sdist so that two builds of one commit are the same bytes."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class CheckError(Exception):
    """What keeps this from being released."""


def built(folder: Path, commit: str) -> tuple[Path, Path]:
    """Return wheel and sdist of a commit, in dist/.

    Raises:
        CheckError: Two clones give different files.
    """
    first, second = (build_once(folder / name, commit) for name in ("one", "two"))
    for one, other in zip(first, second, strict=True):
        if one.read_bytes() != other.read_bytes():
            raise CheckError(f"Two builds of {one.name} are different.")
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    wheel, sdist = (Path(shutil.copy(file, dist)) for file in first)
    return wheel, sdist


def head() -> str:
    """Return the commit that is checked out."""
    return ran(["git", "rev-parse", "HEAD"], cwd=ROOT).strip()


def build_once(folder: Path, commit: str) -> tuple[Path, Path]:
    """Return wheel and sdist of a commit, cloned into `folder`."""
    clone, out = folder / "clone", folder / "out"
    ran(["git", "clone", "--quiet", "--no-checkout", ROOT, clone])
    ran(["git", "checkout", "--quiet", commit], cwd=clone)
    moment = ran(["git", "log", "-1", "--format=%ct"], cwd=clone).strip()
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, clone]
    ran(command, env={**os.environ, "SOURCE_DATE_EPOCH": moment}, umask=0o022)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    normalise(sdist, int(moment))
    return wheel, sdist


def normalise(sdist: Path, moment: int) -> None:
    """Write an archive anew, without what differs from build to build: times, owners, the order of its files."""
    with tarfile.open(sdist) as archive:
        members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
        files = [(member, file.read() if file else None) for member, file in members]
    with (
        sdist.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=moment) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for member, content in sorted(files, key=lambda each: each[0].name):
            made = tarfile.TarInfo(member.name)
            made.type, made.size, made.mtime = member.type, member.size, moment
            made.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            archive.addfile(made, None if content is None else BytesIO(content))


def ran(command: Sequence[str | Path], **options: Any) -> str:
    """Return what a command prints.

    Raises:
        CheckError: It fails; with the end of what it printed.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise CheckError(f"{Path(command[0]).name} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout
