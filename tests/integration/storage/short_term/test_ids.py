"""Ids that try to be others' keys."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kit.search import Words, search

from discreet.ports import Round, Started, Work
from discreet.storage.short_term.redis_keys import session_keys, user_prefixes, work_keys

PIECES = [
    ":",
    "#",
    "*",
    "%",
    "%3A",
    "{}",
    "{ann}",
    " ",
    "?",
    "[a]",
    "\\",
    "ann",
    "session",
    "state",
    "audio",
    "张伟",
    "ё",
    "a" * 190,
]
IDS = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=200),
).filter(lambda name: name.strip() and len(name) <= 200)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FEW = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.fast_cases(1)
@FEW
@given(ids=st.lists(IDS, min_size=3, max_size=3, unique=True))
async def test_no_id_reaches_what_another_has(store, ids):
    places = list(itertools.product(ids, ids))
    try:
        for number, (user_id, other) in enumerate(places):
            assert await store.append_round(user_id, other, spoken(number))
            for kind in ("audio", "request"):
                work = Work(kind=kind, user_id=user_id, ref=other)
                assert isinstance(await store.claim(work, lease=60.0), Started)
        for number, (user_id, thread_id) in enumerate(places):
            assert await store.recent_rounds(user_id, thread_id) == [spoken(number)]
        assert await store.forget(ids[0], ids[1]) == 2
        assert await store.forget(ids[0]) == 2 * 2 + 3 * 2
        for user_id, thread_id in places:
            assert len(await store.recent_rounds(user_id, thread_id)) == (user_id != ids[0])
    finally:
        for user_id in ids:
            await store.forget(user_id)


def spoken(number):
    return Round(request_id="same", input_text=f"round {number}", output_text="", said_at=NOW)


@pytest.mark.slow
@given(st.lists(IDS, min_size=2, max_size=2), st.lists(IDS, min_size=2, max_size=2))
def test_keys_are_equal_only_for_equal_ids_and_hold_no_pattern(one, other):
    assert (keys(*one) & keys(*other) != set()) == (one == other)
    assert not set("".join(keys(*one))) & set("*?[]\\ ^")


@given(IDS, IDS)
def test_all_keys_of_a_user_are_in_one_slot_of_a_cluster(user_id, name):
    """The words in the only braces of a key decide: no id can bring a brace of its own."""
    assert {re.fullmatch(r"[^{}]*\{([^{}]+)\}[^{}]*", key)[1] for key in keys(user_id, name)} == {
        quote(user_id, safe="")
    }


@given(IDS, IDS, IDS)
def test_no_key_of_one_user_begins_as_those_of_another(user_id, other, name):
    assert all(key.startswith(user_prefixes(user_id)) for key in keys(user_id, name))
    assert user_id == other or not any(key.startswith(user_prefixes(other)) for key in keys(user_id, name))


def keys(user_id, name):
    session = session_keys(user_id, name)
    works = [work_keys(Work(kind=kind, user_id=user_id, ref=name)) for kind in ("audio", "request", "call")]
    return {session.state, session.history, session.requests, *(key for w in works for key in (w.lock, w.result))}


@pytest.mark.fast_cases(2)
async def test_keys_hold_ids_only(kept, token):
    said = Round(request_id="r", input_text=f"{token}said", output_text=f"{token}told", said_at=NOW)
    await kept.store.append_round("ann", "1", said)
    work = Work(kind="audio", user_id="ann", ref="0f")
    claim = await kept.store.claim(work, lease=60.0)
    await kept.store.finish(work, claim.token, f"{token}done", keep=60.0)
    found = search(kept.stored(), Words(**{name: f"{token}{name}" for name in ("said", "told", "done")})).leaks
    assert found.keys() == {"said", "told", "done"}
    assert token not in str(found)  # a place of Redis is named by its key


def test_keys_are_those_that_are_documented():
    assert session_keys("U123", "t:1").state == "session:{U123}:t%3A1:state"
    assert work_keys(Work(kind="request", user_id="U123", ref="0f")).lock == "processed:{U123}:0f"
    audio = work_keys(Work(kind="audio", user_id="U123", ref="aud"))
    assert (audio.lock, audio.result) == ("lock:audio:{U123}#audio:aud", "audio:{U123}:aud:result")
