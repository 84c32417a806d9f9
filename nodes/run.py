"""Who is speaking, in which thread: read from the runtime, never from the model or the message."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from discreet.access.sensitive_ids import default_sensitive_ids
from discreet.checkpoint.kept_tools import KeepsTools
from discreet.state.context import Context, named_user
from discreet.state.request_ref import REQUEST_REF

CHECKPOINTER: Final = "__pregel_checkpointer"
"""Where LangGraph's config has the checkpointer of a run: some store a thread of None, which all would share."""

TOOLS: Final = "tools"
"""Name of the node that runs tools, in agents of `create_agent` and in the template."""

SERVERS: Final = ("langgraph_api", "aegra_api")
"""What LangGraph's server, and the one that runs without it, are made of. A process of theirs has them imported before a graph runs."""

SAVERS: Final = (("discreet.checkpoint.saver", "RedactingSaver"), ("discreet.checkpoint.sync", "RedactingSyncSaver"))


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a node may know of the run that it serves."""

    user_id: str | None
    thread_id: str | None
    context: Context
    request_ref: str | None = None
    """Name under which the turn vault has the request that started the run, on a server."""


def describe_run(context: object = None, *, default_user: str | None = None) -> Run:
    """Return the user, the thread and the context of the run that calls this.

    The user is `context.user_id`; in graphs with a context schema of their own, its `user_id` field or key; else
    `configurable["user_id"]` of the run's config; else `default_user`. `context` is by default the run's own.

    Raises:
        InvalidUserError: The user_id found can't be used.
        InvalidThreadError: The thread_id can't be used.
        SensitiveIdError: It, or the thread_id, holds a sensitive value, and the settings refuse such ids.
    """
    context = context if context is not None else _context()
    return run_of(_configurable(), context, default_user=default_user)


def thread_of_run() -> str | None:
    """Return the thread of the run that calls this, whoever its user is.

    Raises:
        InvalidThreadError: It can't be used.
        SensitiveIdError: It holds a sensitive value, and the settings refuse such ids.
    """
    return _thread_of(_configurable())


def kept_tools() -> Collection[str]:
    """Return the names of the tools whose calls and results the checkpointer of the run keeps: what its policy says, if it is one of ours.

    None where the run has no thread, and within another graph's turn.
    """
    configurable = _configurable()
    saver = configurable.get(CHECKPOINTER)
    is_whole = configurable.get("thread_id") is not None and "|" not in configurable.get("checkpoint_ns", "|")
    return saver.policy.tools if is_whole and isinstance(saver, KeepsTools) else ()


def in_tool() -> bool:
    """Tell whether the graph that calls this runs inside of another one's tool."""
    parents = str(_configurable().get("checkpoint_ns", "")).split("|")[:-1]
    return any(parent.partition(":")[0] == TOOLS for parent in parents)


def is_stored_by_others() -> bool:
    """Tell whether somebody stores the state of the run that calls this as it is: a checkpointer that is none of ours, or a server.

    It is so wherever that can't be told: outside of a run, and under what wraps one of our checkpointers or adds to it.
    """
    configurable = _configurable()
    if CHECKPOINTER not in configurable or _is_on_server(configurable):
        return True
    saver = configurable[CHECKPOINTER]
    return saver is not None and not (_is_ours(saver) and saver.restores)


def _is_ours(saver: object) -> bool:
    """Tell whether a checkpointer is one of ours, by its very class. None was made whose module was not imported: nodes need no psycopg."""
    return any(type(saver) is getattr(sys.modules.get(module), name, None) for module, name in SAVERS)


def _is_on_server(configurable: Mapping[str, Any]) -> bool:
    """Tell whether a server runs this: it stores what runs are given and give, whatever their checkpointer is."""
    return any(name in sys.modules for name in SERVERS) or any(
        key == REQUEST_REF or key.startswith("langgraph_auth") for key in configurable
    )


def control_of_run() -> object:
    """Return what LangGraph gives to all parts of the run that calls this; None if it runs nothing."""
    runtime = _configurable().get("__pregel_runtime")
    return getattr(runtime, "control", None)


def run_of(configurable: Mapping[str, Any], context: object = None, *, default_user: str | None = None) -> Run:
    """Return what `describe_run` does, of a run that is still to begin.

    Raises:
        InvalidUserError: The user_id found can't be used.
        InvalidThreadError: The thread_id can't be used.
        SensitiveIdError: It, or the thread_id, holds a sensitive value, and the settings refuse such ids.
    """
    user_id = named_user(context, configurable)
    user_id = default_user if user_id is None else user_id
    return Run(
        user_id=None if user_id is None else default_sensitive_ids().user_id(user_id),
        thread_id=_thread_of(configurable),
        context=context if isinstance(context, Context) else Context(),
        request_ref=configurable.get(REQUEST_REF),
    )


def _thread_of(configurable: Mapping[str, Any]) -> str | None:
    thread_id = configurable.get("thread_id")
    if thread_id is None and not ("thread_id" in configurable and configurable.get(CHECKPOINTER)):
        return None
    return default_sensitive_ids().thread_id(thread_id)


def _configurable() -> Mapping[str, Any]:
    try:
        return get_config().get("configurable") or {}
    except RuntimeError:  # LangGraph's way to say that nothing is running: a node or tool called by hand
        return {}


def _context() -> object:
    try:
        runtime: Runtime[Any] | None = get_runtime()
    except RuntimeError:  # as above
        return None
    return None if runtime is None else runtime.context  # None: a config of the caller's own
