"""Who is speaking, in which thread: read from the runtime, never from the model or the message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from discreet.state.context import Context, check_user_id


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a node may know of the run that it serves."""

    user_id: str | None
    thread_id: str | None
    context: Context


def describe_run(config: RunnableConfig, context: object = None, *, default_user: str | None = None) -> Run:
    """Return the run's user, thread and context.

    The user is `context.user_id`; in graphs with a context schema of their own, its `user_id` field or key; else
    `configurable["user_id"]`; else `default_user`.

    Raises:
        InvalidUserError: The user_id found can't be used.
    """
    configurable: Mapping[str, Any] = config.get("configurable") or {}
    found = context.get("user_id") if isinstance(context, Mapping) else getattr(context, "user_id", None)
    user_id = found or configurable.get("user_id") or default_user
    thread_id = configurable.get("thread_id")
    return Run(
        user_id=None if user_id is None else check_user_id(user_id),
        thread_id=None if thread_id is None else str(thread_id),
        context=context if isinstance(context, Context) else Context(),
    )
