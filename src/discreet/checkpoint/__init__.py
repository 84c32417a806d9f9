"""A checkpointer that writes only redacted user and model messages."""

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
