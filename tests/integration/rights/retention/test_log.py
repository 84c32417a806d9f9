"""The log goes by age, but for what important moments were said in; session records and rolling summaries go with it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testkit.conversations import turn

from discreet.errors import SettingRefusedError
from discreet.ports import RollingSummary
from discreet.state.records import MemoryRecord, Provenance

SECOND = timedelta(seconds=1)


async def said(storage, request_id, ended_at, **values):
    await storage.log.append(turn(request_id, "Hello", at=ended_at - timedelta(seconds=2), **values))


async def left(storage, user="ann"):
    return {each.request_id for each in await storage.log.read(user, limit=1_000)}


@pytest.mark.parametrize("days", [1, 30, 90, 400])
async def test_a_turn_is_kept_for_its_days_and_not_a_second_longer(storage, clock, days):
    await storage.memory_settings.change({"retention_log_days": days}, by="u_admin")
    await said(storage, "day before", clock.ago(days=days - 1))
    await said(storage, "to the second", clock.ago(days=days))
    await said(storage, "a second more", clock.ago(days=days) - SECOND)
    await said(storage, "day after", clock.ago(days=days + 1))
    assert (await storage.retention.sweep())["log"] == 2
    assert await left(storage) == {"day before", "to the second"}


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention_log_days", -1),
        ("retention_log_days", 36_501),
        ("retention_checkpoint_days", -1),
        ("retention_turn_days", 1.5),
        ("retention_audit_days", 364),
        ("retention_session_minutes", 0),
    ],
)
async def test_a_time_outside_of_its_bounds_is_refused(storage, name, value):
    with pytest.raises(SettingRefusedError, match=name):
        await storage.memory_settings.change({name: value}, by="u_admin")


async def test_whatever_the_ages_just_the_older_ones_go(storage, clock):
    drawn = []

    @settings(max_examples=5, database=None)
    @given(st.lists(st.integers(0, 60 * 86_400), min_size=1, max_size=12, unique=True), st.integers(30, 45))
    def draw(seconds, days):
        drawn.append((seconds, days))

    draw()
    for number, (ages, days) in enumerate(drawn):
        user = f"user {number}"
        for age in ages:
            await said(storage, f"{age}", clock.ago(seconds=age), user=user, thread=f"t{age % 3}")
        await storage.memory_settings.change({"retention_log_days": days}, by="u_admin")
        await storage.retention.sweep()
        assert await left(storage, user) == {f"{age}" for age in ages if age <= days * 86_400}


async def moment(storage, user="ann", **values):
    record = MemoryRecord(text="Has had a heart attack", type="important_moment", **values)
    await storage.memories.save(user, [record])
    return record.entry_id


async def test_what_a_moment_was_said_in_stays_as_long_as_the_moment(storage, clock):
    for request_id in ("first", "second", "third", "other"):
        await said(storage, request_id, clock.ago(days=400))
    entry_id = await moment(storage, request_id="first", provenance=Provenance(turns=["second", "third"]))
    assert (await storage.retention.sweep())["log"] == 1
    assert await left(storage) == {"first", "second", "third"}
    await storage.memories.delete("ann", entry_id)
    gone = await storage.retention.sweep()
    assert (gone["log"], gone["sessions"]) == (3, 1)


async def test_neither_a_fact_nor_another_persons_moment_keeps_a_turn(storage, clock):
    await said(storage, "first", clock.ago(days=31))
    await said(storage, "first", clock.ago(days=31), user="bob")
    await moment(storage, user="bob", request_id="first")
    await storage.memories.save("ann", [MemoryRecord(text="Likes tea", request_id="first")])
    await storage.retention.sweep()
    assert (await left(storage), await left(storage, "bob")) == (set(), {"first"})


async def test_session_records_and_summaries_go_with_the_last_turn_of_their_thread(storage, clock, rows):
    for thread, days in (("old", 31), ("old", 45), ("goes on", 45), ("goes on", 3)):
        await said(storage, f"{thread} {days}", clock.ago(days=days), thread=thread)
    for thread in ("old", "goes on"):
        summary = RollingSummary(text="Greetings", rounds=1, last_message_id="m")
        await storage.summaries.commit("ann", thread, expected=RollingSummary(), new=summary)
    rows("UPDATE discreet.rolling_summary SET updated_at = %s", clock.ago(days=40))
    gone = await storage.retention.sweep()
    assert (gone["log"], gone["sessions"], gone["summaries"]) == (3, 1, 1)
    assert rows("SELECT thread_id FROM discreet.session_record") == [("goes on",)]
    assert rows("SELECT thread_id FROM discreet.rolling_summary") == [("goes on",)]


@pytest.mark.dialect
async def test_a_dry_run_counts_what_goes_then_and_changes_nothing(storage, clock, rows):
    for days in (20, 31, 50):
        await said(storage, f"{days}", clock.ago(days=days), thread=f"{days}")
    due = {each.kind: each for each in await storage.retention.due() if each.rows}
    assert {kind: each.rows for kind, each in due.items()} == {"log": 2, "sessions": 2}
    assert due["log"].oldest == clock.ago(days=50)
    assert len(await left(storage)) == 3
    assert dict(await storage.retention.sweep()) == {"log": 2, "sessions": 2}
    assert not any(each.rows for each in await storage.retention.due())
