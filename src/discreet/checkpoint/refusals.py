"""Refuse, with a reason, what can't be stored and what can't go on."""

from __future__ import annotations

from datetime import UTC, datetime

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint

from discreet.checkpoint.channels import started_by_value
from discreet.checkpoint.checkpoint_ref import CheckpointRef, in_run
from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.errors import CheckpointError, PauseExpiredError, TransientStateLostError


def refuse_pregel(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint of a graph of which nobody can tell when its turn is over.

    Raises:
        CheckpointError: The graph is built of Pregel itself.
    """
    if node := started_by_value(checkpoint):
        raise CheckpointError(
            f"An ordinary channel has started the node {node!r}, as in a graph that is built of Pregel itself. When "
            "its turn is over can't be told, so nothing can be stored. Use StateGraph or @entrypoint."
        )


def refuse_lost(thread: ThreadScratch, config: RunnableConfig, parent: CheckpointRef, source: str | None) -> None:
    """Refuse what goes on from the middle of a turn that isn't here.

    Raises:
        TransientStateLostError: It does.
    """
    if source == "update" and parent.checkpoint_id and parent.ns == "" and parent not in thread.anchors:
        raise TransientStateLostError
    if in_run(config) and (thread.refused or (source == "fork" and parent in thread.unfinished)):
        raise lost(thread.answer_by)


def lost(answer_by: str) -> TransientStateLostError:
    """Return why an answer finds nothing. `answer_by`: until when it could be given, as ISO 8601; empty if nobody knows."""
    expired = answer_by and datetime.fromisoformat(answer_by) <= datetime.now(UTC)
    return PauseExpiredError(answer_by) if expired else TransientStateLostError()
