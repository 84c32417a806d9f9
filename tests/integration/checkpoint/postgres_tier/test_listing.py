"""Listings: page by page, whole, and without keeping anybody waiting."""

from __future__ import annotations

import pytest

from discreet.checkpoint.postgres.pages import PAGE_SIZE


def ids(found):
    return [item.config["configurable"]["checkpoint_id"] for item in found]


@pytest.mark.fast_cases(2)
async def test_a_history_longer_than_a_page_is_listed_whole(tier, start, say):
    thread, value, stored = start(tier), [], []
    for _ in range(PAGE_SIZE + 5):
        value = [*value, *say("a")]
        stored.insert(0, (await thread.put(value))["id"])
    assert ids([item async for item in tier.alist(thread.latest)]) == stored
    assert ids([item async for item in tier.alist(thread.latest, limit=PAGE_SIZE + 2)]) == stored[: PAGE_SIZE + 2]
    assert ids([item async for item in tier.alist(thread.latest, limit=0)]) == []
    before = {"configurable": {"checkpoint_id": stored[3]}}
    assert ids([item async for item in tier.alist(thread.latest, before=before, limit=2)]) == stored[4:6]
    assert ids([item async for item in tier.alist(thread.latest, filter={"step": 2})]) == []


@pytest.mark.slow
async def test_copies_which_share_their_ids_are_all_listed(another, start, say):
    thread = start(another)
    for _ in range(3):
        await thread.put(say("a"))
    for number in range(PAGE_SIZE):
        await another.acopy_thread("1", f"copy {number}")
    found = [item async for item in another.alist(None)]
    assert len({(item.config["configurable"]["thread_id"], item.checkpoint["id"]) for item in found}) == len(found)
    assert len(found) == 3 * (1 + PAGE_SIZE)


async def test_whoever_reads_a_listing_may_use_the_saver_meanwhile(open_tier, start, say):
    """With one connection: upstream's listing keeps it until its end."""
    tier = await open_tier(pool={"min_size": 1, "max_size": 1})
    thread = start(tier)
    await thread.put(say("a"))
    await thread.put(say("b"))
    assert [(await thread.load(item.config)).checkpoint["id"] async for item in tier.alist(thread.latest)]
