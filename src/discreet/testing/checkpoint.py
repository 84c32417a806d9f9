"""Check `RedactingSaver` with LangGraph's conformance suite."""

from __future__ import annotations

from discreet.checkpoint import KEEP, CheckpointPolicy

CHANNELS = ("k", "msg", "str_val", "int_val", "list_val", "dict_val", "a", "b", "x", "step")
WRITE_CHANNELS = ("ch", "ch1", "ch2", "ch3", "channel1", "my_channel")
METADATA = ("custom_key", "score", "run_id")
"""`run_id` too: the suite's are not all as LangGraph makes them, and only those are stored of themselves."""


def conformance_policy() -> CheckpointPolicy:
    """Return a policy that allow-lists what `langgraph-checkpoint-conformance` 0.0.2 puts, and nothing else.

    The suite expects back what it put, so a saver that drops what it doesn't know can't pass without.
    """
    return CheckpointPolicy(
        messages=(),
        subgraphs=("child", "inner", "subgraph"),
        channels=dict.fromkeys((*CHANNELS, *WRITE_CHANNELS), KEEP),
        metadata=dict.fromkeys(METADATA, KEEP),
        interrupts=KEEP,
        errors=KEEP,
    )
