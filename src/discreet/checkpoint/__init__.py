"""A checkpointer that writes only redacted user and model messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy_names import loaded_on_demand

if TYPE_CHECKING:
    from discreet.checkpoint.policy import KEEP, REDACT, CheckpointPolicy, Rule
    from discreet.checkpoint.saver import RedactingSaver
    from discreet.checkpoint.scratch import Scratch, ScratchLimits
    from discreet.checkpoint.sync import RedactingSyncSaver

__all__ = [
    "KEEP",
    "REDACT",
    "CheckpointPolicy",
    "RedactingSaver",
    "RedactingSyncSaver",
    "Rule",
    "Scratch",
    "ScratchLimits",
]

# Nodes use some modules of this package, and none of PostgreSQL.
__getattr__ = loaded_on_demand(
    __name__,
    {
        **dict.fromkeys(("KEEP", "REDACT", "CheckpointPolicy", "Rule"), "policy"),
        **dict.fromkeys(("Scratch", "ScratchLimits"), "scratch"),
        "RedactingSaver": "saver",
        "RedactingSyncSaver": "sync",
    },
)
