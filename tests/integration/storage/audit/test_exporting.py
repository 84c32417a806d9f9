"""Entries as those read them who look into something."""

from __future__ import annotations

from datetime import timedelta

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
