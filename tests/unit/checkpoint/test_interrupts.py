"""Which of two states of a paused turn is the newer one."""

import pytest
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from discreet.checkpoint.checkpoint_ref import bare
from discreet.checkpoint.interrupts import Interrupts
from discreet.checkpoint.scratch import Scratch
from discreet.checkpoint.spill import Version

SERDE = JsonPlusSerializer()
HERE = bare("1", "", None)


@pytest.fixture
def scratch():
    return Scratch()


def checkpoint(head):
    return {**empty_checkpoint(), "id": head}


@pytest.mark.parametrize(("head", "newer"), [("a", False), ("b", True), ("c", True)])
def test_a_pause_that_was_overtaken_by_what_is_stored_is_not_newer(scratch, head, newer):
    stored = CheckpointTuple(HERE, checkpoint("b"), {})
    assert Interrupts(scratch, SERDE).is_newer(Version(head, "1"), HERE, stored) is newer


@pytest.mark.parametrize(("head", "newer"), [("a", False), ("b", True), ("c", True)])
def test_a_pause_from_before_the_turn_in_ram_is_not_newer(scratch, head, newer):
    with scratch.thread("1") as thread:
        thread.put(HERE, checkpoint("b"), {"source": "loop"}, SERDE)
    assert Interrupts(scratch, SERDE).is_newer(Version(head, "1"), HERE, None) is newer
