"""What is remembered of threads in use, and what drives it out."""

from langchain_core.messages import HumanMessage
from prometheus_client import REGISTRY

from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.postgres.message_rows import NO_ROWS, plan_rows
from discreet.checkpoint.postgres.row_cache import RowCache


def rows(count):
    return {"messages": plan_rows("messages", [HumanMessage(str(n)) for n in range(count)], NO_ROWS)[0]}


def test_only_the_very_checkpoint_counts():
    cache, known = RowCache(), rows(2)
    cache.put("1", CheckpointRef("", "b"), known)
    assert cache.get("1", CheckpointRef("", "b")) is known
    assert cache.get("1", CheckpointRef("", "a")) is None
    assert cache.get("1", CheckpointRef("node", "b")) is None
    assert cache.get("2", CheckpointRef("", "b")) is None


def test_reading_history_does_not_drive_out_the_newest():
    cache, known = RowCache(), rows(2)
    cache.note("1", CheckpointRef("", "b"), known)
    cache.note("1", CheckpointRef("", "a"), rows(1))
    assert cache.get("1", CheckpointRef("", "b")) is known
    cache.note("1", CheckpointRef("", "c"), rows(3))
    assert cache.get("1", CheckpointRef("", "b")) is None


def test_a_put_counts_whatever_was_known():
    cache, fork = RowCache(), rows(1)
    cache.put("1", CheckpointRef("", "b"), rows(2))
    cache.put("1", CheckpointRef("", "a"), fork)
    assert cache.get("1", CheckpointRef("", "a")) is fork


def test_it_is_bounded_by_bytes_and_keeps_what_was_used_last():
    before = REGISTRY.get_sample_value("discreet_row_cache_bytes")
    cache = RowCache(max_bytes=12_000)
    cache.put("1", CheckpointRef("", "a"), rows(4))
    cache.put("2", CheckpointRef("", "a"), rows(4))
    assert cache.get("1", CheckpointRef("", "a"))
    cache.put("3", CheckpointRef("", "a"), rows(4))
    assert cache.get("2", CheckpointRef("", "a")) is None
    assert cache.get("1", CheckpointRef("", "a"))
    assert 8_000 < REGISTRY.get_sample_value("discreet_row_cache_bytes") - before <= 12_000
    cache.put("4", CheckpointRef("", "a"), rows(12))
    assert cache.get("4", CheckpointRef("", "a")) is None
    cache.clear()
    assert REGISTRY.get_sample_value("discreet_row_cache_bytes") == before


def test_long_texts_take_more_room_than_short_ones():
    cache = RowCache(max_bytes=12_000)
    long = {"messages": plan_rows("messages", [HumanMessage("x" * 12_000)], NO_ROWS)[0]}
    cache.put("1", CheckpointRef("", "a"), long)
    assert cache.get("1", CheckpointRef("", "a")) is None


def test_threads_without_messages_are_bounded_too():
    cache = RowCache(max_bytes=3_500)
    for number in range(5):
        cache.put(str(number), CheckpointRef("", "a"), {})
    assert [number for number in range(5) if cache.get(str(number), CheckpointRef("", "a")) is not None] == [2, 3, 4]


def test_a_deleted_thread_is_forgotten():
    cache = RowCache(max_bytes=7_000)
    cache.put("1", CheckpointRef("", "a"), rows(1))
    cache.put("1", CheckpointRef("node", "a"), rows(1))
    cache.put("2", CheckpointRef("", "a"), rows(1))
    cache.forget(["1", "none"])
    assert cache.get("1", CheckpointRef("", "a")) is cache.get("1", CheckpointRef("node", "a")) is None
    cache.put("3", CheckpointRef("", "a"), rows(2))
    assert cache.get("2", CheckpointRef("", "a")), "what was forgotten no longer takes room"
