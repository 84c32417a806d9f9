"""Listing page by page, against a list of checkpoints as the database would sort them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base import CheckpointTuple

from discreet.checkpoint.postgres.pages import Pages


def stored(checkpoint_id, number):
    return CheckpointTuple({"configurable": {"thread_id": str(number)}}, {"id": checkpoint_id}, {})


def listing(found, limit, size):
    """Return what the pages hand out, and how many were read."""
    pages, handed_out, queries = Pages(None, limit, size), [], 0
    while not pages.done:
        asked = pages.ask()
        queries += 1
        below = asked["before"] and asked["before"]["configurable"]["checkpoint_id"]
        matching = [item for item in found if below is None or item.checkpoint["id"] < below]
        handed_out += pages.take(matching[: asked["limit"]])
    return handed_out, queries


@given(st.lists(st.sampled_from("abcdefgh")), st.one_of(st.none(), st.integers(0, 12)), st.integers(1, 5))
def test_every_checkpoint_comes_once_in_order_also_those_that_share_an_id(ids, limit, size):
    found = [stored(name, number) for number, name in enumerate(sorted(ids, reverse=True))]
    assert listing(found, limit, size)[0] == (found if limit is None else found[:limit])


@pytest.mark.parametrize(("limit", "queries"), [(0, 0), (1, 1), (10, 1), (None, 2)])
def test_a_short_listing_is_one_query(limit, queries):
    found = [stored(f"{99 - number:02}", number) for number in range(40)]
    assert listing(found, limit, 32)[1] == queries
