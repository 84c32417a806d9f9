"""Which stored record a new one becomes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from discreet.state.records import MemoryRecord
from discreet.storage.settling import settle

THEN = datetime(2026, 1, 1, tzinfo=UTC)


def fact(text, **values):
    return MemoryRecord(text=text, **{"created_at": THEN, **values})


def turn(text, position, **values):
    return MemoryRecord(text=text, type="turn", thread_id="thread", position=position, created_at=THEN, **values)


def test_a_new_fact_stays_as_it_is():
    new = fact("Likes tea")
    assert settle([new], [fact("Likes coffee")]) == [new]


def test_a_fact_said_again_is_refreshed_and_keeps_what_was_known():
    stored = fact("Likes tea", importance=9, confidence=0.5, tags=["drinks"], feedback=[{"rating": 1}])
    again = fact("likes  TEA", created_at=THEN + timedelta(days=1), importance=3, confidence=0.4, tags=["habits"])
    [settled] = settle([again], [stored])
    assert settled.entry_id == stored.entry_id
    assert settled.text == "likes  TEA"
    assert settled.created_at == again.created_at
    assert settled.valid_from == stored.created_at
    assert (settled.importance, settled.confidence) == (9, 0.5)
    assert settled.tags == ["drinks", "habits"]
    assert settled.feedback == [{"rating": 1}]


def test_a_fact_said_twice_in_one_batch_is_one_fact():
    first, second = fact("Likes tea"), fact("likes tea")
    assert {record.entry_id for record in settle([first, second], [])} == {first.entry_id}


def test_another_type_another_application_and_a_past_fact_are_not_the_same():
    stored = fact("Likes tea")
    others = [
        fact("Likes tea", type="preference"),
        fact("Likes tea", app_name="other"),
        fact("Likes tea", valid_to=THEN),
    ]
    assert settle(others, [stored]) == others
    new = fact("Likes tea")
    assert settle([new], [fact("Likes tea", valid_to=THEN)]) == [new]


def test_a_known_id_replaces_its_record():
    stored = fact("Likes tea", importance=9)
    changed = fact("Likes cocoa", entry_id=stored.entry_id)
    assert settle([changed], [stored]) == [changed]


def test_a_fact_that_was_just_changed_no_longer_meets_its_old_text():
    stored = fact("Likes tea")
    changed, new = fact("Likes cocoa", entry_id=stored.entry_id), fact("Likes tea")
    assert settle([changed, new], [stored]) == [changed, new]


def test_a_turn_takes_the_id_of_the_turn_at_its_place():
    stored = turn("Hi", 3)
    [settled] = settle([turn("Hello", 3)], [stored])
    assert (settled.entry_id, settled.text) == (stored.entry_id, "Hello")


def test_equal_turns_at_two_places_stay_two():
    first, second = turn("Yes", 1), turn("Yes", 2)
    assert settle([first, second], []) == [first, second]
