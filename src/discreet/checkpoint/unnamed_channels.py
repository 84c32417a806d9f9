"""Say which channels of an application's state are not stored since its policy does not name them, and how to keep them. Names, never values."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Container, Iterable
from typing import Any, Final

from langgraph.checkpoint.base import Checkpoint

from discreet.checkpoint.channels import is_engine_channel
from discreet.checkpoint.known_channels import KNOWN
from discreet.checkpoint.policy import CheckpointPolicy
from discreet.checkpoint.values import NotPlainError, plain
from discreet.state.conversation import ConversationState

logger = logging.getLogger(__name__)

_OURS: Final = ConversationState.__required_keys__ | ConversationState.__optional_keys__ | {"id_reused"}
"""Channels of a turn of the template and of `MemoryMiddleware`, which end with it."""
_OF_ANY_TURN: Final = "request"
"""The one of them that says whose the others are: an application may have a channel `memories` of its own."""
_EPHEMERAL: Final = frozenset({"jump_to"})
"""Of `create_agent`: where the next step goes."""

_told: set[str] = set()
"""Names that this process has told."""


def of_application(channels: Iterable[str], *, nodes: Container[str] = ()) -> list[str]:
    """Return which of all `channels` of a checkpoint are an application's own, in order; `nodes` have run in it.

    The others are LangGraph's, the conversation, our graph's of the running turn, and counters that are stored by default.
    """
    named = sorted(channels)
    others = {*CheckpointPolicy().messages, *KNOWN, *_EPHEMERAL, *(_OURS if _OF_ANY_TURN in named else ())}
    return [name for name in named if name not in others and name not in nodes and not _is_langgraphs(name)]


def keeping(channels: Iterable[str]) -> str:
    """Return the policy that keeps `channels`.

    Example:
        >>> keeping(["cart", "locale"])
        'CheckpointPolicy(channels={"cart": REDACT, "locale": REDACT})'
    """
    rules = ", ".join(f"{json.dumps(channel)}: REDACT" for channel in channels)
    return f"CheckpointPolicy(channels={{{rules}}})"


def tell_dropped(checkpoint: Checkpoint, kept: Collection[str], policy: CheckpointPolicy) -> None:
    """Log which channels have a value in `checkpoint`, the end of a turn, that is not among `kept`; once a process for the same names."""
    values = checkpoint["channel_values"]
    own = of_application(values, nodes=checkpoint["versions_seen"])
    dropped = [name for name in own if name not in kept and name not in policy.channels and not _is_empty(values[name])]
    named = [name for name in dropped if name not in policy.messages]
    if not _is_news(named):
        return
    plainly = [name for name in named if _is_plain(values[name])]
    parts = [
        f"These channels of the state end with their turn, since the policy does not name them: {', '.join(named)}."
    ]
    if plainly:
        parts.append(f"To keep them from turn to turn give the saver policy={keeping(plainly)}.")
    if others := [name for name in named if name not in plainly]:
        parts.append(f"No policy keeps {', '.join(others)}: make the values plain data (text, numbers, lists, dicts).")
    _log(parts, named)


def tell_adopted(channels: Iterable[str], policy: CheckpointPolicy) -> None:
    """Log which of `channels`, of threads that another saver has stored, are an application's own and not named by the policy."""
    own = of_application(channels)
    named = [name for name in own if name not in policy.channels and name not in policy.messages]
    if _is_news(named):
        said = f"Threads that another saver has stored here have channels that the policy does not name: {', '.join(named)}."
        _log(
            [
                said,
                f"They end with the next turn of their thread. To keep them give the saver policy={keeping(named)}.",
                "`discreet scan` tells how many threads have each.",
            ],
            named,
        )


def _log(parts: Iterable[str], names: Iterable[str]) -> None:
    _told.update(names)
    logger.warning("channels_not_kept: %s", " ".join(parts), extra={"channels": ",".join(names)})


def _is_news(names: Collection[str]) -> bool:
    return not _told.issuperset(names)


def _is_langgraphs(channel: str) -> bool:
    """Return whether a channel is LangGraph's, of a graph or an entrypoint, also of its releases before 0.4."""
    return is_engine_channel(channel) or channel.startswith(("__", "branch:", "start:"))


def _is_empty(value: Any) -> bool:
    """Return whether a channel that is not stored comes back as it was: most reducers begin with an empty list."""
    return value is None or (isinstance(value, (list, tuple, set, frozenset, dict, str)) and not value)


def _is_plain(value: Any) -> bool:
    try:
        plain(value)
    except (NotPlainError, RecursionError):
        return False
    return True
