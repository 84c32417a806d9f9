"""Environments of their own for packages that are not to be installed beside ours, made once a machine."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

READY = "ready"


def python_with(*packages: str) -> Path:
    """Return the interpreter of an environment that has `packages`; they are fetched from the index if need be."""
    name = hashlib.sha256(repr((sys.version, packages)).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet-tests" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    python = folder / "bin" / "python"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two test runs one makes it
        if not (folder / READY).exists():
            uv = [sys.executable, "-m", "uv", "--quiet"]
            subprocess.run([*uv, "venv", "--clear", "--python", sys.executable, str(folder)], check=True)
            subprocess.run([*uv, "pip", "install", "--python", str(python), *packages], check=True)
            (folder / READY).touch()
    return python


def run_script(python: Path, script: Path, *arguments: str, **environment: str) -> str:
    """Run `script` and return what it printed. It sees no variables of ours but those of `environment`."""
    seen = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        [python, script, *arguments], env={**seen, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
