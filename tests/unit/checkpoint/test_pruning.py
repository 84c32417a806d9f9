"""Which checkpoints go when a thread is pruned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from discreet.checkpoint.checkpoint_ref import CheckpointRef
from discreet.checkpoint.pruning import Pruning, Row, moment

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def thread(*sources, **options):
    """Return a chain of the root's checkpoints, a minute apart. `pause` is one of the middle of a turn."""
    return [
        Row(
            "1",
            CheckpointRef("", str(number)),
            str(number - 1) if number else None,
            source="loop" if source == "pause" else source,
            unfinished=source == "pause",
            made_at=NOON + timedelta(minutes=number),
            **options,
        )
        for number, source in enumerate(sources)
    ]


def ids(rows):
    return [item.place.checkpoint_id for item in rows]


TURNS = [
    (("input", "loop", "input", "loop", "input", "loop"), True, {1: "45", 2: "2345", 3: "012345", 9: "012345"}),
    (("loop", "loop", "loop"), True, {1: "2", 2: "12"}),
    (("loop", "loop", "loop"), False, {1: "2", 2: "12"}),
    (("input", "pause", "loop", "loop", "pause", "loop"), True, {1: "45", 2: "345", 3: "012345"}),
    (("input", "loop", "loop", "loop", "input", "loop", "loop"), False, {1: "456", 2: "0123456"}),
    (("input", "loop", "update", "input", "pause"), True, {1: "34", 2: "01234"}),
    (("update",), True, {1: "0"}),
]


@pytest.mark.parametrize(("sources", "ours", "kept"), TURNS)
def test_the_newest_turns_stay_whole(sources, ours, kept):
    for turns, expected in kept.items():
        assert "".join(ids(Pruning(turns=turns).staying(thread(*sources, redacted=ours)))) == expected


@pytest.mark.parametrize(("minutes", "expected"), [(0, "0123"), (2, "23"), (3, "3"), (60, "3")])
def test_what_is_older_goes_but_for_the_newest(minutes, expected):
    rows = thread("input", "loop", "input", "loop")
    assert "".join(ids(Pruning(before=NOON + timedelta(minutes=minutes)).staying(rows))) == expected


def test_both_limits_hold():
    rows = thread("input", "loop", "input", "loop")
    assert ids(Pruning(turns=2, before=NOON + timedelta(minutes=1)).staying(rows)) == ["1", "2", "3"]
    assert ids(Pruning(turns=1, before=NOON).staying(rows)) == ["2", "3"]


def test_a_subgraphs_checkpoints_stay_with_the_turn_that_they_are_of():
    rows = thread("input", "loop", "input", "loop")
    subs = [Row("1", CheckpointRef(f"node:{number}", f"{number}5"), None, root_id=f"{number}") for number in range(4)]
    assert [item for item in Pruning(turns=1).staying([*rows, *subs]) if item in subs] == subs[2:]
    assert [item for item in Pruning().staying([*rows, *subs]) if item in subs] == subs[3:]


def test_a_delta_channel_may_be_pruned_where_all_its_history_stays():
    rows = thread("input", "loop", "input", "loop", delta=True)
    assert Pruning(turns=2).gone(rows) == []
    with pytest.raises(NotImplementedError):
        Pruning(turns=1).gone(rows)
    assert ids(Pruning(turns=1).gone([item._replace(redacted=True) for item in rows])) == ["0", "1"]


def test_sends_that_an_old_langgraph_left_at_the_parent_stay():
    rows = thread("input", "loop", "loop")
    rows[-1] = rows[-1]._replace(sends_in_parent=True)
    assert ids(Pruning().staying(rows)) == ["1", "2"]


def test_a_time_without_zone_is_utc_and_none_is_none():
    assert moment("2026-03-01T12:00:00") == NOON
    assert moment("") is None
    assert Pruning().gone([]) == []
