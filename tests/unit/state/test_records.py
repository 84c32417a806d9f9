from datetime import UTC, datetime

import pytest

from discreet.errors import InvalidRecordError
from discreet.state.records import MAX_MEMORY_CHARS, MemoryRecord, TurnRecord


def test_only_text_is_required():
    record = MemoryRecord(text="Likes tea")
    assert (record.type, record.importance, record.confidence, record.tags) == ("user_fact", 5, 1.0, [])
    assert record.created_at.utcoffset().total_seconds() == 0


def test_two_records_have_ids_of_their_own():
    assert MemoryRecord(text="a").entry_id != MemoryRecord(text="a").entry_id


def test_text_is_made_storable():
    assert MemoryRecord(text="a\0b\ud800c").text == "ab\ufffdc"


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ""},
        {"text": " \n"},
        {"text": "x" * (MAX_MEMORY_CHARS + 1)},
        {"text": 7},
        {"text": "x", "type": "gossip"},
        {"text": "x", "importance": 0},
        {"text": "x", "importance": 11},
        {"text": "x", "confidence": 1.1},
        {"text": "x", "type": "turn"},
        {"text": "x", "type": "turn", "thread_id": "t"},
        {"text": "x", "unknown": 1},
    ],
)
def test_bad_fields_are_refused_with_a_typed_error_that_repeats_no_value(fields):
    with pytest.raises(InvalidRecordError) as caught:
        MemoryRecord(**fields)
    assert "xxxx" not in str(caught.value)
    assert "gossip" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, []),
        ([], []),
        ({"mime": "audio/ogg"}, [{"mime": "audio/ogg"}]),
        ([{"mime": "a/b"}] * 2, [{"mime": "a/b"}] * 2),
    ],
)
def test_a_turn_has_a_list_of_media(given, kept):
    values = {"request_id": "r", "user_id": None, "thread_id": "t", "input_text": "x", "output_text": "y"}
    now = datetime.now(UTC)
    assert TurnRecord(**values, started_at=now, ended_at=now, media=given).media == kept
