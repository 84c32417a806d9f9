import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from discreet.checkpoint import CheckpointPolicy
from discreet.checkpoint.checkpoint_ref import CheckpointRef, bare
from discreet.checkpoint.scratch import Scratch, ScratchLimits

SERDE = JsonPlusSerializer()


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def put(scratch, thread_id, text="x", ns=""):
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"note": text}
    checkpoint["channel_versions"] = {"note": checkpoint["id"]}
    with scratch.thread(thread_id) as thread:
        thread.put(bare(thread_id, ns, None), checkpoint, {"source": "loop"}, SERDE)
    return CheckpointRef(ns, checkpoint["id"])


def held(scratch, thread_id, place):
    with scratch.reading(thread_id) as thread:
        found = thread.get(place, SERDE) if thread else None
    return found.checkpoint["channel_values"]["note"] if found else None


def test_a_turn_is_held_whole():
    scratch = Scratch()
    assert held(scratch, "1", put(scratch, "1", "raw")) == "raw"


def test_a_turn_that_nobody_touches_is_forgotten(clock):
    scratch = Scratch(ScratchLimits(ttl_seconds=60), clock)
    old = put(scratch, "old")
    clock.now += 40
    young = put(scratch, "young")
    clock.now += 20
    assert held(scratch, "old", old) is None
    assert held(scratch, "young", young) == "x"


def test_reading_does_not_prolong_a_turn(clock):
    scratch = Scratch(ScratchLimits(ttl_seconds=60), clock)
    place = put(scratch, "1")
    clock.now += 59
    assert held(scratch, "1", place)
    clock.now += 1
    assert held(scratch, "1", place) is None


def test_the_thread_used_longest_ago_makes_room():
    scratch = Scratch(ScratchLimits(max_threads=2))
    for thread_id in ("1", "2", "1", "3"):
        put(scratch, thread_id)
    assert scratch.thread_ids() == ["1", "3"]


def test_size_is_bounded_and_the_thread_in_use_stays():
    scratch = Scratch(ScratchLimits(max_bytes=10_000))
    put(scratch, "1", "x" * 6_000)
    put(scratch, "2", "x" * 6_000)
    assert scratch.thread_ids() == ["2"]
    place = put(scratch, "3", "x" * 20_000)
    assert scratch.thread_ids() == ["3"]
    assert held(scratch, "3", place)


def test_closing_the_root_drops_everything_and_closing_a_subgraph_its_own():
    scratch = Scratch()
    root, child = put(scratch, "1"), put(scratch, "1", ns="child")
    with scratch.thread("1") as thread:
        thread.close(child)
        assert (thread.holds(root), thread.holds(child)) == (True, False)
        thread.close(root)
        assert not thread.holds(root)
        assert thread.size() == 0


def test_a_dropped_thread_no_longer_counts():
    scratch = Scratch(ScratchLimits(max_bytes=10_000))
    put(scratch, "1", "x" * 9_000)
    scratch.drop("1")
    put(scratch, "2", "x" * 4_000)
    put(scratch, "3", "x" * 4_000)
    assert scratch.thread_ids() == ["2", "3"]


def test_a_copied_turn_lives_on_its_own():
    scratch = Scratch()
    place = put(scratch, "1", "raw")
    scratch.copy("1", "2")
    scratch.drop("1")
    assert held(scratch, "2", place) == "raw"


def test_a_thread_stores_by_the_policy_of_the_saver_that_asks_and_under_its_own_name():
    one, other = CheckpointPolicy(), CheckpointPolicy(messages=())
    with Scratch().thread("1") as thread:
        bound = thread.bound(one)
        assert thread.bound(one) is bound
        assert (bound.thread_id, bound.messages) == ("1", one.messages)
        assert thread.bound(other).messages == ()
        assert thread.copied("2").bound(one).thread_id == "2"
