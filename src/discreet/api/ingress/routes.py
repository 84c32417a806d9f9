"""What kind of request a path of the LangGraph server takes."""

from __future__ import annotations

import re
from enum import Enum, auto
from uuid import UUID

from starlette.types import Scope

_ID = "[^/]+"
_RUN = re.compile(rf"(?:/threads/(?P<thread>{_ID}))?/runs(?:/(?P<live>stream|wait))?")
_COMMAND = re.compile(rf"/threads/(?P<thread>{_ID})/commands")
_CRON = re.compile(rf"(?:/threads/{_ID})?/runs/crons")
_CRON_CHANGE = re.compile(rf"/runs/crons/(?!search$|count$){_ID}")
_ASSISTANT = re.compile(rf"/assistants(?:/(?!search$|count$){_ID})?")
_THREAD = re.compile(rf"/threads/(?P<thread>{_ID})(?:/.*)?")

OPEN_PATHS = frozenset(
    {"/", "/ok", "/info", "/metrics", "/docs", "/openapi.json", "/health", "/ready", "/live"}  # the last three: Aegra
)
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
    CRON_CHANGE = auto()
    """It changes what is kept so."""
    ASSISTANT = auto()
    """It is kept too, and may name whose memories runs will work with."""
    STORE = auto()
    """It names items of the store."""
    PLAIN = auto()
    """It is redacted, and that is all."""


_KINDS = (
    ({"POST"}, re.compile("/runs/batch"), Kind.RUNS),
    ({"POST"}, _RUN, Kind.RUN),
    ({"POST"}, _COMMAND, Kind.COMMAND),
    ({"POST"}, _CRON, Kind.CRON),
    ({"PATCH"}, _CRON_CHANGE, Kind.CRON_CHANGE),
    ({"POST", "PATCH"}, _ASSISTANT, Kind.ASSISTANT),
)
"""Methods and paths of the kinds, but of the store; the first that matches is it."""


def path_of(scope: Scope) -> str:
    """Return the path below what the server is mounted at (`http.mount_prefix`), as its routes see it."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def kind_of(method: str, path: str) -> Kind:
    """Return what is done with the body of a request."""
    if path == "/store/items" or path.startswith("/store/"):
        return Kind.STORE
    matching = (kind for methods, pattern, kind in _KINDS if method in methods and pattern.fullmatch(path))
    return next(matching, Kind.PLAIN)


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
