"""What becomes of new records and of the stored ones that they meet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from discreet.retrieval import dedup_resolution
from discreet.retrieval.dedup import DedupThresholds
from discreet.retrieval.dedup_resolution import Nearness, settle
from discreet.state.records import MemoryRecord

THEN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = THEN + timedelta(days=1)


@pytest.fixture(autouse=True)
def scripted_verdicts(monkeypatch):
    """Say what two facts are to each other by a word that both begin with, so that no change of the rules changes these tests."""

    def judge(new, old, similarity, thresholds):
        verdict = new.split()[0]
        return verdict if verdict == old.split()[0] and verdict in ("same", "update", "conflict") else "new"

    monkeypatch.setattr(dedup_resolution, "judge", judge)


def fact(text, **values):
    return MemoryRecord(text=text, **{"created_at": THEN, **values})


def turn(text, position, **values):
    return MemoryRecord(text=text, type="turn", thread_id="thread", position=position, created_at=THEN, **values)


def settled(records, stored=()):
    """Settle `records`, every one of them near to all that is stored and to each other."""
    near = {n: {record.entry_id: 0.9 for record in stored} for n in range(len(records))}
    batch = {n: {m: 0.9 for m in range(len(records)) if m != n} for n in range(len(records))}
    return settle(records, stored, nearness=Nearness(stored=near, batch=batch), thresholds=DedupThresholds())


def results(outcome):
    return [outcome.records[entry_id] for entry_id in outcome.results]


def test_a_new_fact_is_written_as_it_is():
    new = fact("Likes tea")
    outcome = settled([new], [fact("Likes coffee")])
    assert results(outcome) == [new]
    assert outcome.written == {new.entry_id: 0}
    assert not outcome.changed


def test_a_fact_said_again_is_refreshed_and_keeps_what_was_known():
    stored = fact("same tea", importance=9, confidence=0.5, tags=["drinks"], feedback=[{"rating": 1}])
    again = fact("same TEA", created_at=LATER, importance=3, confidence=0.4, tags=["habits"])
    outcome = settled([again], [stored])
    [record] = results(outcome)
    assert (record.entry_id, record.text, record.created_at) == (stored.entry_id, "same tea", LATER)
    assert (record.valid_from, record.valid_to) == (THEN, None)
    assert (record.importance, record.confidence) == (9, 0.5)
    assert (record.tags, record.feedback) == (["drinks", "habits"], [{"rating": 1}])
    assert (outcome.written, outcome.changed, outcome.said_again) == ({}, {stored.entry_id}, {stored.entry_id})


def test_a_new_state_ends_the_old_one_when_it_was_said():
    old, new = fact("update Hanoi", importance=9), fact("update Hue", created_at=LATER, importance=2)
    outcome = settled([new], [old])
    assert outcome.records[old.entry_id].valid_to == LATER
    assert outcome.records[new.entry_id].importance == 9
    assert (outcome.written, outcome.changed) == ({new.entry_id: 0}, {old.entry_id})


def test_a_state_that_was_said_before_the_stored_one_has_ended_already():
    old, new = fact("update Hanoi", created_at=LATER), fact("update Hue")
    outcome = settled([new], [old])
    assert outcome.records[old.entry_id].valid_to is None
    assert outcome.records[new.entry_id].valid_to == LATER


def test_what_may_contradict_is_kept_and_the_later_one_flagged():
    old, new = fact("conflict tea"), fact("conflict no tea", created_at=LATER)
    outcome = settled([new], [old])
    assert outcome.conflicts == {(old.entry_id, new.entry_id)}
    assert outcome.records[new.entry_id].conflict_flags == [str(old.entry_id)]
    assert {outcome.records[r.entry_id].valid_to for r in (old, new)} == {None}


def test_another_type_is_never_merged_and_a_change_of_it_is_a_conflict():
    stored = fact("same tea")
    other = fact("same tea", type="preference")
    assert results(settled([other], [stored])) == [other]
    old, new = fact("update Hanoi"), fact("update Hue", type="event", created_at=LATER)
    assert settled([new], [old]).conflicts == {(old.entry_id, new.entry_id)}


def test_an_important_moment_is_never_superseded():
    old = fact("update wedding", type="important_moment")
    outcome = settled([fact("update wedding day", type="important_moment", created_at=LATER)], [old])
    assert outcome.records[old.entry_id].valid_to is None
    assert len(outcome.conflicts) == 1


@pytest.mark.parametrize("kind", ["conversation_summary", "reasoning"])
def test_summaries_and_reasoning_are_never_compared(kind):
    new = fact("same text", type=kind)
    assert results(settled([new], [fact("same text", type=kind)])) == [new]


def test_another_application_and_a_past_fact_are_not_met():
    for stored in (fact("same tea", app_name="other"), fact("same tea", valid_to=THEN)):
        new = fact("same tea")
        assert results(settled([new], [stored])) == [new]
    past = fact("same tea", valid_to=THEN)
    assert results(settled([past], [fact("same tea")])) == [past]


def test_facts_of_one_batch_meet_each_other():
    first, second = fact("same tea"), fact("same tea", created_at=LATER)
    outcome = settled([first, second])
    assert outcome.results == [first.entry_id] * 2
    assert outcome.written == {first.entry_id: 0}
    assert outcome.records[first.entry_id].created_at == LATER
    one, two = fact("update Hanoi"), fact("update Hue", created_at=LATER)
    outcome = settled([one, two])
    assert outcome.records[one.entry_id].valid_to == LATER
    assert outcome.written == {one.entry_id: 0, two.entry_id: 1}


def test_a_known_id_replaces_its_record():
    stored = fact("same tea", importance=9)
    changed = fact("Likes cocoa", entry_id=stored.entry_id)
    assert results(settled([changed], [stored])) == [changed]


def test_a_turn_takes_the_id_of_the_turn_at_its_place():
    stored = turn("Hi", 3)
    [record] = results(settled([turn("Hello", 3)], [stored]))
    assert (record.entry_id, record.text) == (stored.entry_id, "Hello")


def test_equal_turns_at_two_places_stay_two():
    first, second = turn("same", 1), turn("same", 2)
    assert results(settled([first, second])) == [first, second]
