"""What flows through the graph."""

from __future__ import annotations

from discreet.state.conversation import ConversationState


class State(ConversationState):
    """The conversation and the running turn.

    Add channels of your own here. They live as long as their turn: only `messages` is stored, redacted. One that is to
    outlive its turn is named to the checkpointer: `RedactingSaver.from_storage(storage, CheckpointPolicy(channels=…))`.
    """
