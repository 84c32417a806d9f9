"""Entries as those read them who look into something."""

from __future__ import annotations

from datetime import timedelta

import pytest

from discreet.storage.audit import exporting


async def test_entries_of_all_of_one_and_of_a_time(trail, monkeypatch):
    monkeypatch.setattr(exporting, "PAGE", 2)
    await trail.write("ann", 3)
    await trail.write("bob", 2)
    ann = trail.keys.of_user("ann")

    async def numbers(**which):
        return sorted(
            (row["user_key"] == ann, row["number"])
            for row in [row async for row in exporting.entries(trail.pool, **which)]
        )

    assert await numbers() == [(False, 1), (False, 2), (True, 1), (True, 2), (True, 3)]
    assert await numbers(user_key=ann) == [(True, 1), (True, 2), (True, 3)]
    since, until = trail.now - timedelta(seconds=3), trail.now
    assert await numbers(since=since, until=until) == [(False, 1), (True, 2), (True, 3)]


@pytest.mark.parametrize("at", ["infinity", "-infinity", "20000-01-01", "0044-03-15 BC"])
async def test_a_time_that_python_has_no_object_for_hides_no_entry(trail, at):
    """Somebody put it there: `verify` says so, and whoever looks into that reads the rest."""
    await trail.write("ann", 3)
    await trail.run("UPDATE discreet.audit_entry SET at = %s::text::timestamptz WHERE number = 2", at)
    rows = [row async for row in exporting.entries(trail.pool)]
    assert [row["number"] for row in rows] == [1, 2, 3]
    assert [row["at"] is None for row in rows] == [False, True, False]
    assert (await trail.verify()).found
