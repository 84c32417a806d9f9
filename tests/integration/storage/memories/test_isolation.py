"""Nobody sees another's memories, whatever is called with whatever strings."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.access.sensitive_ids import default_sensitive_ids
from discreet.errors import InvalidUserError
from discreet.state.ids import check_user_id
from discreet.state.records import MemoryFilters, MemoryRecord

INJECTED = [
    "ann",
    "Ann",
    "ann ",
    "ann' OR '1'='1",
    "ann'; DROP TABLE discreet.memory; --",
    "%",
    "a_n",
    "%(user_id)s",
    "{ann}",
    "ann\\",
    '"ann"',
    "аnn",  # the first letter is Cyrillic
    "ann\u200b",
    "*",
    "null",
    "0",
]
users = st.one_of(st.sampled_from(INJECTED), st.text(min_size=1, max_size=30))
words = st.one_of(st.sampled_from([*INJECTED, "parrot", "thread", "shop"]), st.text(min_size=1, max_size=12)).filter(
    # No NUL is stored, no tag may be empty, and no thread may be named as "0000000000".
    lambda word: word.strip("\0") and not default_sensitive_ids().refuses(word)
)
filters = st.builds(
    MemoryFilters,
    app_name=st.none() | words,
    shared_apps=st.none() | st.lists(words, max_size=2),
    thread_id=st.none() | words,
    agent_id=st.none() | words,
    tags=st.none() | st.lists(words, max_size=2),
    types=st.none() | st.just(["user_fact", "turn"]),
)


def usable(user_id):
    """Return what a user is known by; None where it is refused: as none, or as a sensitive value."""
    if default_sensitive_ids().refuses(user_id):
        return None
    try:
        return check_user_id(user_id)
    except InvalidUserError:
        return None


@pytest.mark.dialect
@given(
    saved=st.lists(st.tuples(users, words, words, st.integers(0, 3)), min_size=2, max_size=6),
    asked=st.lists(st.tuples(users, words, filters), min_size=1, max_size=4),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_every_call_is_scoped_to_the_user(memories, saved, asked):
    run = uuid4().hex.translate(
        str.maketrans("0123456789", "ghijklmnop")
    )  # examples share a database; no telephone number
    saved = [(usable(user_id + run), *rest) for user_id, *rest in saved]
    asked = [(usable(user_id + run), *rest) for user_id, *rest in asked]
    owners = {}
    for user_id, word, label, position in saved:
        if user_id is not None:
            turn = MemoryRecord(
                text=f"parrot {word}", type="turn", thread_id=label, position=position, tags=[label], agent_id=label
            )
            [stored] = await memories.save(user_id, [turn])
            owners[stored.entry_id] = user_id
    for user_id, query, given_filters in asked:
        if user_id is not None:
            await _see_only_ones_own(memories, user_id, owners, f"parrot {query}", given_filters)


async def test_an_entry_id_that_two_users_have_leads_each_to_their_own(memories):
    entry_id, texts = uuid4(), {uuid4().hex: "the parrot of Ann", uuid4().hex: "the parrot of Bob"}

    def turn(text):
        return MemoryRecord(entry_id=entry_id, text=text, type="turn", thread_id="1", position=1)

    for user_id, text in texts.items():
        await memories.save(user_id, [turn(text)])
    first, second = texts
    assert [hit.record.text for hit in await memories.search(first, "parrot")] == [texts[first]]
    assert [hit.record.text for hit in await memories.search(second, "parrot")] == [texts[second]]
    await memories.add_feedback(first, entry_id, {"rating": 5})
    await memories.save(first, [turn("another parrot")])
    kept = await memories.get(second, entry_id)
    assert (kept.text, kept.feedback) == (texts[second], [])
    assert await memories.delete(first, entry_id)
    assert [record.text for record in await memories.latest(second)] == [texts[second]]


async def _see_only_ones_own(memories, user_id, owners, query, given_filters):
    hits = await memories.search(user_id, query, limit=50, filters=given_filters)
    read = await memories.latest(user_id, filters=given_filters)
    assert {owners[record.entry_id] for record in [*(hit.record for hit in hits), *read]} <= {user_id}
    others = {entry_id: owner for entry_id, owner in owners.items() if owner != user_id}
    for entry_id in others:
        assert await memories.get(user_id, entry_id) is None
        assert not await memories.delete(user_id, entry_id)
    await memories.delete_many(user_id, given_filters)
    for entry_id, owner in others.items():
        assert await memories.get(owner, entry_id) is not None
    for entry_id in owners.keys() - others.keys():  # one's own may be gone, for those who ask next too
        if await memories.get(user_id, entry_id) is None:
            del owners[entry_id]
