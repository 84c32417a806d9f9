"""Reading and deleting without a question: the same for the database and for the fake that ships."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from discreet.errors import EntryExistsError, FeedbackLimitError, InvalidUserError
from discreet.state.records import MAX_FEEDBACK, MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.testing import InMemoryMemories, StubEmbeddings

MAIL = "ann" + "@" + "example.com"
DAY = datetime(2026, 1, 10, tzinfo=UTC)


@pytest.fixture(params=["fake", "postgres"])
async def memories(request, database):
    """Return an empty memory of each kind."""
    if request.param == "fake":
        yield InMemoryMemories()
        return
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        yield storage.memories


def note(number, **values):
    text = f"note about {'abcdefghijklmnopqrstuvwxyz'[number] * 5}"
    return MemoryRecord(text=text, **{"created_at": DAY + timedelta(days=number), **values})


async def test_one_is_read_by_its_id_and_by_its_owner_only(memories):
    [saved] = await memories.save("ann", [note(1)])
    assert await memories.get("ann", saved.entry_id) == saved
    assert await memories.get("bob", saved.entry_id) is None
    assert await memories.get("ann", uuid4()) is None


async def test_the_newest_come_first_page_by_page(memories):
    saved = await memories.save("ann", [note(n) for n in (3, 1, 4, 2, 0)])
    newest = sorted(saved, key=lambda record: record.created_at, reverse=True)
    assert await memories.latest("ann") == newest
    first = await memories.latest("ann", limit=2)
    second = await memories.latest("ann", limit=2, older_than=first[-1].entry_id)
    assert [*first, *second] == newest[:4]
    assert await memories.latest("ann", older_than=newest[-1].entry_id) == []
    assert await memories.latest("ann", limit=0) == []
    assert await memories.latest("bob") == []
    await memories.save("bob", [note(0)])
    assert await memories.latest("bob", older_than=newest[0].entry_id) == []


async def test_pages_do_not_skip_what_was_said_at_the_same_time(memories):
    await memories.save("ann", [note(n, created_at=DAY) for n in range(5)])
    seen, last = [], None
    while page := await memories.latest("ann", limit=2, older_than=last):
        seen += page
        last = page[-1].entry_id
    assert len({record.entry_id for record in seen}) == len(seen) == 5


@pytest.mark.dialect
async def test_a_page_begins_after_its_mark_also_when_the_entry_is_gone(memories):
    saved = await memories.save("ann", [note(n, created_at=DAY) for n in range(5)])
    newest = sorted(saved, key=lambda record: record.entry_id, reverse=True)
    mark = (DAY, newest[2].entry_id)
    await memories.delete("ann", newest[2].entry_id)
    assert await memories.latest("ann", older_than=mark) == newest[3:]
    assert await memories.latest("ann", older_than=newest[2].entry_id) == []


async def test_superseded_ones_are_listed_where_they_are_asked_for(memories):
    old, new = await memories.save("ann", [note(1, valid_to=DAY), note(2)])
    assert await memories.latest("ann") == [new]
    assert await memories.latest("ann", held=False) == [new, old]


@pytest.mark.slow
async def test_records_kept_apart_are_neither_merged_nor_replaced(memories):
    [first] = await memories.save("ann", [note(1)])
    one, two = await memories.save("ann", [note(1), note(1)], dedup=False)
    assert len({first.entry_id, one.entry_id, two.entry_id}) == 3
    assert len(await memories.latest("ann")) == 3
    for refused in ([note(2), note(3, entry_id=one.entry_id)], [note(4, entry_id=uuid4())] * 2):
        with pytest.raises(EntryExistsError):
            await memories.save("ann", refused, dedup=False)
    assert len(await memories.latest("ann")) == 3
    [of_another] = await memories.save("bob", [note(3, entry_id=one.entry_id)], dedup=False)
    assert of_another.entry_id == one.entry_id
    assert await memories.get("ann", one.entry_id) == one


async def test_a_reasoning_is_redacted_kept_whole_and_not_searched(memories):
    steps = "1) ask " + MAIL + "; 2) wait. " * 5_000
    [saved] = await memories.save("ann", [note(1, type="reasoning", reasoning=steps)])
    assert saved.reasoning == steps.replace(MAIL, "<EMAIL>")
    assert await memories.get("ann", saved.entry_id) == saved
    assert (await memories.latest("ann"))[0].reasoning == saved.reasoning
    [hit] = await memories.search("ann", "note")
    assert hit.record == saved
    [replaced] = await memories.save("ann", [note(2, entry_id=saved.entry_id)])
    assert replaced.reasoning is None


async def test_feedback_is_added_redacted_and_by_the_owner_only(memories):
    [saved] = await memories.save("ann", [note(1, feedback=[{"rating": 1}])])
    added = await memories.add_feedback("ann", saved.entry_id, {"rating": 5, "comment": f"ask {MAIL}"})
    assert added.feedback == [{"rating": 1}, {"rating": 5, "comment": "ask <EMAIL>"}]
    assert await memories.get("ann", saved.entry_id) == added
    assert await memories.add_feedback("bob", saved.entry_id, {"rating": 2}) is None
    assert await memories.add_feedback("ann", uuid4(), {"rating": 2}) is None


async def test_feedback_given_at_once_is_all_kept_up_to_the_limit(memories):
    [saved] = await memories.save("ann", [note(1, feedback=[{"rating": n} for n in range(MAX_FEEDBACK - 5)])])
    given = [memories.add_feedback("ann", saved.entry_id, {"rating": -n}) for n in range(8)]
    results = await asyncio.gather(*given, return_exceptions=True)
    assert sum(isinstance(result, FeedbackLimitError) for result in results) == 3
    kept = await memories.get("ann", saved.entry_id)
    assert len(kept.feedback) == MAX_FEEDBACK
    assert len({item["rating"] for item in kept.feedback[-5:]}) == 5


FILTERS = {
    "application": {"app_name": "shop"},
    "shared applications": {"app_name": "shop", "shared_apps": ["bank"]},
    "thread": {"thread_id": "t1"},
    "agent": {"agent_id": "helper"},
    "request": {"request_id": "req-1"},
    "types": {"types": ["event", "preference"]},
    "tags": {"tags": ["pets"]},
    "after": {"after": DAY + timedelta(days=2)},
    "before": {"before": DAY + timedelta(days=2)},
    "as of": {"as_of": DAY + timedelta(days=2)},
}
RECORDS = [
    {"app_name": "shop", "tags": ["pets", "home"]},
    {"app_name": "bank", "thread_id": "t1", "type": "event"},
    {"agent_id": "helper", "type": "preference", "request_id": "req-1"},
    {"tags": ["pets"], "valid_to": DAY + timedelta(days=4)},
    {"valid_from": DAY},
]
EXPECTED = {
    "application": [0],
    "shared applications": [1, 0],
    "thread": [1],
    "agent": [2],
    "request": [2],
    "types": [2, 1],
    "tags": [0],
    "after": [4, 2],
    "before": [1, 0],
    "as of": [4, 2, 1, 0],
}


@pytest.mark.fast_cases(4)
@pytest.mark.dialect
@pytest.mark.parametrize("name", FILTERS)
async def test_filters_select_the_same_everywhere(memories, name):
    saved = await memories.save("ann", [note(n, **values) for n, values in enumerate(RECORDS)])
    filters = MemoryFilters(**FILTERS[name])
    expected = [saved[n].entry_id for n in EXPECTED[name]]
    assert [record.entry_id for record in await memories.latest("ann", filters=filters)] == expected
    found = {hit.record.entry_id for hit in await memories.search("ann", "note", filters=filters, limit=50)}
    assert found == set(expected)


@pytest.mark.dialect
async def test_deleting_by_filter_takes_superseded_ones_too_and_nobody_elses(memories):
    await memories.save("ann", [note(1, tags=["a"]), note(2, tags=["a"], valid_to=DAY), note(3)])
    await memories.save("bob", [note(1, tags=["a"])])
    assert await memories.delete_many("ann", MemoryFilters(tags=["a"])) == 2
    assert len(await memories.latest("ann")) == 1
    assert await memories.delete_many("ann", MemoryFilters()) == 1
    assert await memories.delete_many("ann", MemoryFilters()) == 0
    assert len(await memories.latest("bob")) == 1


@pytest.mark.dialect
async def test_a_fact_said_again_is_refreshed_everywhere(memories):
    [first] = await memories.save("ann", [note(1, importance=9)])
    [again] = await memories.save("ann", [note(1, created_at=DAY + timedelta(days=9))])
    assert (again.entry_id, again.importance) == (first.entry_id, 9)


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("user_id", ["", " ", "a\0b", "\x1fnotes\x1f", "x" * 201])
async def test_a_user_id_that_can_key_nothing_is_refused(memories, user_id):
    for call in (
        memories.get(user_id, uuid4()),
        memories.latest(user_id),
        memories.delete(user_id, uuid4()),
        memories.delete_many(user_id, MemoryFilters()),
        memories.search(user_id, "x"),
        memories.save(user_id, [note(1)]),
        memories.add_feedback(user_id, uuid4(), {"rating": 1}),
    ):
        with pytest.raises(InvalidUserError):
            await call
