import json

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send

from discreet.errors import ScanError
from discreet.scanning.databases import Row
from discreet.scanning.scrubbing.heads import engine_value, find_heads
from discreet.scanning.values.msgpack import unpack

NAMES = ("thread_id", "checkpoint_ns", "checkpoint_id")


def row(number, *, ns="", values=None, versions=None, v=4, parent=None, metadata=None, **more):
    checkpoint = {"v": v, "channel_values": values or {}, "channel_versions": versions or {}}
    stored = {"checkpoint": json.dumps(checkpoint), "metadata": json.dumps(metadata or {}), **more}
    return Row(("t", ns, f"{number:03}"), {**stored, "parent_checkpoint_id": parent})


def stored(value):
    return unpack(JsonPlusSerializer().dumps_typed(value)[1])


def heads_of(*rows, blobs=None):
    return find_heads(rows, NAMES, lambda ns, channel, version: (blobs or {}).get((ns, channel, version)))


def test_the_newest_checkpoint_of_each_namespace_is_a_head():
    heads = heads_of(
        row(1, versions={"a": "1"}), row(2, versions={"a": "2", "b": "1"}), row(1, ns="clerk", versions={"n": "5"})
    )
    assert heads.ids == {"": "002", "clerk": "001"}
    assert heads.versions == {("", "a", "2"), ("", "b", "1"), ("clerk", "n", "5")}
    assert heads.has_checkpoint("", "002")
    assert not heads.has_checkpoint("", "001")
    assert heads.needs_writes("clerk", "001")
    assert not heads.needs_writes("", "001")
    assert not heads.is_open


@pytest.mark.parametrize(
    ("values", "versions", "blobs"),
    [
        ({"branch:to:model": None}, {"branch:to:model": "1"}, {}),
        ({"__start__": {"messages": []}}, {"__start__": "1"}, {}),
        ({}, {"__start__": "1"}, {("", "__start__", "1"): {"messages": []}}),
        ({}, {"__pregel_tasks": "1"}, {("", "__pregel_tasks", "1"): stored([Send("a", {})])}),
        ({}, {"join:a+b:c": "1"}, {("", "join:a+b:c", "1"): stored({"a", "b"})}),
    ],
    ids=["branch", "input", "input in a blob", "sends", "join"],
)
def test_a_thread_that_goes_on_is_open(values, versions, blobs):
    assert heads_of(row(1, values=values, versions=versions), blobs=blobs).is_open


@pytest.mark.parametrize(
    ("values", "versions", "blobs"),
    [
        ({"messages": []}, {"messages": "1"}, {}),
        ({}, {"__start__": "1", "__pregel_tasks": "1"}, {}),
        ({}, {"__pregel_tasks": "1"}, {("", "__pregel_tasks", "1"): []}),
        ({}, {"join:a+b:c": "1"}, {("", "join:a+b:c", "1"): stored(set())}),
    ],
    ids=["messages", "nothing", "no sends", "nobody joined"],
)
def test_a_thread_at_rest_is_not_open(values, versions, blobs):
    assert not heads_of(row(1, values=values, versions=versions), blobs=blobs).is_open


def test_only_the_root_decides():
    assert not heads_of(row(1), row(1, ns="clerk", values={"branch:to:a": None})).is_open


def test_older_formats_need_the_writes_of_their_parent():
    heads = heads_of(row(1), row(2, v=3, parent="001"))
    assert heads.needs_writes("", "001")
    assert not heads_of(row(1), row(2, v=4, parent="001")).needs_writes("", "001")


def test_a_delta_channel_needs_all_writes():
    heads = heads_of(row(1, metadata={"counters_since_delta_snapshot": {"messages": [1, 1]}}), row(2))
    assert heads.is_delta
    assert heads.needs_writes("", "001")


@pytest.mark.parametrize("checkpoint", [None, "[]", "{no json", b"\xc1"])
def test_a_head_that_can_not_be_read_is_told(checkpoint):
    with pytest.raises(ScanError):
        heads_of(row(1, checkpoint=checkpoint, type="msgpack"))


def test_an_older_checkpoint_that_can_not_be_read_does_not_matter():
    assert heads_of(row(1, checkpoint="{no json"), row(2)).ids == {"": "002"}


@pytest.mark.parametrize(
    ("value", "known"),
    [(stored({"a"}), {"a"}), ([["a"], True], (["a"], True)), ([stored({"a"}), False], ({"a"}, False)), ("a", "a")],
)
def test_triggers_are_read_as_the_engine_knows_them(value, known):
    assert engine_value(value) == known
