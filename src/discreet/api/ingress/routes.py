"""What kind of request a path of the LangGraph server takes."""

from __future__ import annotations

import re
from enum import Enum, auto
from uuid import UUID

from starlette.types import Scope

_ID = "[^/]+"
_RUN = re.compile(rf"(?:/threads/(?P<thread>{_ID}))?/runs(?:/(?P<live>stream|wait))?")
_COMMAND = re.compile(rf"/threads/(?P<thread>{_ID})/commands")
_CRON = re.compile(rf"(?:/threads/{_ID})?/runs/crons(?:/{_ID})?")
_THREAD = re.compile(rf"/threads/(?P<thread>{_ID})(?:/.*)?")

OPEN_PATHS = frozenset({"/", "/ok", "/info", "/metrics", "/docs", "/openapi.json"})
"""Paths that the server answers to anybody; they tell nothing of anybody."""

OWN_PREFIX = "/memory"
"""Routes of ours: they check who calls and redact what they store by themselves."""


class Kind(Enum):
    """What is done with a body."""

    RUN = auto()
    """It creates one run."""
    RUNS = auto()
    """It is a list of such."""
    COMMAND = auto()
    """It is a command of the event protocol."""
    CRON = auto()
    """It is kept, to create runs later."""
    STORE = auto()
    """It names items of the store."""
    PLAIN = auto()
    """It is redacted, and that is all."""


def path_of(scope: Scope) -> str:
    """Return the path below what the server is mounted at (`http.mount_prefix`), as its routes see it."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def kind_of(method: str, path: str) -> Kind:
    """Return what is done with the body of a request."""
    if path == "/store/items" or path.startswith("/store/"):
        return Kind.STORE
    if method == "POST" and path == "/runs/batch":
        return Kind.RUNS
    if method == "POST" and _RUN.fullmatch(path):
        return Kind.RUN
    if method == "POST" and _COMMAND.fullmatch(path):
        return Kind.COMMAND
    if method in {"POST", "PATCH"} and _CRON.fullmatch(path):
        return Kind.CRON
    return Kind.PLAIN


def is_live(method: str, path: str) -> bool:
    """Whether the answer to a request is the answer of the run that it creates."""
    match = _RUN.fullmatch(path)
    return method == "POST" and match is not None and match["live"] is not None


def thread_of(path: str) -> str | None:
    """Return the thread that a path names, as runs know it; None if it names none or none that can be."""
    match = _THREAD.fullmatch(path)
    if match is None:
        return None
    try:
        return str(UUID(match["thread"]))
    except ValueError:
        return None


def is_own(path: str) -> bool:
    """Whether a route of ours answers."""
    return path == OWN_PREFIX or path.startswith(f"{OWN_PREFIX}/")
