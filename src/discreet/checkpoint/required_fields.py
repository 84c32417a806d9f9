"""Name the fields of a state that has to have them, and that no checkpoint keeps: where the graph is compiled, and where LangGraph fails."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Iterable
from traceback import walk_tb
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from discreet.checkpoint.policy import CheckpointPolicy

logger = logging.getLogger(__name__)

MAKING: Final = "_coerce_state"
"""LangGraph's function that makes the state of a node from what the channels hold."""
_QUOTED: Final = re.compile(r"'(\w+)'")


def tell_unkept(schema: object, policy: CheckpointPolicy) -> None:
    """Log, once a channel, which required fields of a graph's state the next turn has only if it sends them."""
    for channel in _unkept(_required(schema), policy):
        if channel not in policy.told:
            policy.told.add(channel)
            logger.warning("required_channel_not_kept: %s", advice([channel]), extra={"channel": channel})


def explain(error: BaseException, policy: CheckpointPolicy) -> None:
    """Add a note to LangGraph's error about a state that lacks fields, if `policy` doesn't keep them."""
    if not isinstance(error, ValidationError | TypeError):
        return
    if not any(frame.f_code.co_name == MAKING for frame, _ in walk_tb(error.__traceback__)):
        return
    channels = _unkept(_missing(error), policy)
    if channels and (note := advice(channels)) not in getattr(
        error, "__notes__", ()
    ):  # the node's chain fails, and the graph's
        error.add_note(note)


def advice(channels: Iterable[str]) -> str:
    """Return what to do about channels that are required and not kept."""
    rules = ", ".join(f'"{channel}": REDACT' for channel in channels)
    return (
        "A field of the state is required, and a checkpoint keeps it from turn to turn only if the policy names it: "
        f"CheckpointPolicy(channels={{{rules}}}). Or give it a default, or send it with each turn."
    )


def _unkept(names: Iterable[str], policy: CheckpointPolicy) -> list[str]:
    return [name for name in names if name not in policy.channels and name not in policy.messages]


def _required(schema: object) -> list[str]:
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return [name for name, field in schema.model_fields.items() if field.is_required()]
    if isinstance(schema, type) and dataclasses.is_dataclass(schema):
        missing = dataclasses.MISSING
        fields = dataclasses.fields(schema)
        return [
            each.name for each in fields if each.init and each.default is missing and each.default_factory is missing
        ]
    return []


def _missing(error: Any) -> list[str]:
    if isinstance(error, ValidationError):
        return [str(each["loc"][0]) for each in error.errors() if each["type"] == "missing" and len(each["loc"]) == 1]
    return _QUOTED.findall(str(error)) if "missing" in str(error) else []
