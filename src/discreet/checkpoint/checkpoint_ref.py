"""References to checkpoints: thread, namespace and id, and the configs that carry them."""

from __future__ import annotations

from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig

from discreet.state.context import named_user
from discreet.state.ids import check_thread_id, check_user_id


class CheckpointRef(NamedTuple):
    """A checkpoint within its thread."""

    ns: str
    """Namespace: empty for the graph, `node` for a subgraph with a state of its own, `node:<task>` for one call of one."""
    checkpoint_id: str
    """Sortable by time; empty for "the newest"."""


def locate(config: RunnableConfig) -> tuple[str, CheckpointRef]:
    """Return the thread and the place that `config` names.

    Raises:
        InvalidThreadError: Its thread_id can't be used.
    """
    where = config["configurable"]
    return check_thread_id(where["thread_id"]), CheckpointRef(
        where.get("checkpoint_ns") or "", where.get("checkpoint_id") or ""
    )


RUNTIME = "__pregel_runtime"
"""What LangGraph passes along with the calls of a run, and not with those of `get_state` or `update_state`."""


def in_run(config: RunnableConfig) -> bool:
    """Return whether a run reads or writes with `config`. It reads as it begins, nothing else."""
    return RUNTIME in config["configurable"]


def control_of(config: RunnableConfig) -> Any:
    """Return the object that LangGraph hands to all calls of a run; None without a run."""
    return getattr(config["configurable"].get(RUNTIME), "control", None)


def drains(config: RunnableConfig) -> bool:
    """Return whether the run of `config` was asked to stop before its next step (`RunControl.request_drain`)."""
    return bool(getattr(control_of(config), "drain_requested", False))


def user_of(config: RunnableConfig, *, otherwise: str | None = None) -> str | None:
    """Return the user of the run that reads or writes with `config`, as far as it is known.

    That is the one of the run's context, else `user_id` of its config, else the identity that a LangGraph server
    authenticated, else `otherwise`.

    Raises:
        InvalidUserError: The user_id found can't be used.
    """
    where = config["configurable"]
    context = getattr(where.get(RUNTIME), "context", None)
    user_id = named_user(context, where)
    if user_id is None:
        user_id = where.get("langgraph_auth_user_id") or otherwise
    return None if user_id is None else check_user_id(user_id)


def saves_once(config: RunnableConfig) -> bool:
    """Return whether the run of `config` saves at its end only: durability "exit"."""
    return config["configurable"].get("__pregel_durability") == "exit"


def bare(thread_id: str, ns: str | None, checkpoint_id: str | None) -> RunnableConfig:
    """Return a config of nothing but a place: savers copy whatever else they find in one into their rows."""
    where = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id or None}
    return {"configurable": {key: value for key, value in where.items() if value is not None}}


def strip(config: RunnableConfig) -> RunnableConfig:
    """Return a config of the place that `config` names."""
    thread_id, place = locate(config)
    return bare(thread_id, *place)
