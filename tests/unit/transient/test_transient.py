import copy
import doctest
import pickle
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from discreet import transient
from discreet.errors import LeakBlockedError, TransientEntryError
from discreet.transient import FREED_AT_ONCE, TransientState, default_transient_state

KEY = "tool.temp.weather"


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def state(clock):
    return TransientState(clock=clock)


@pytest.mark.parametrize(("key", "seconds"), [(KEY, 900), ("retrieval.cache.vectorIds", 600), ("features.mood", 900)])
def test_an_entry_lives_as_long_as_its_namespace_says(state, clock, key, seconds):
    state.set("t", key, "value")
    clock.now += seconds - 0.001
    assert state.get("t", key) == "value"
    clock.now += 0.001
    assert state.get("t", key, "gone") == "gone"
    assert len(state) == 0


@pytest.mark.parametrize("seconds", [1, 60, 1_800])
def test_a_time_to_live_of_ones_own(state, clock, seconds):
    state.set("t", KEY, "value", ttl=seconds)
    clock.now += seconds - 0.001
    assert state.get("t", KEY) == "value"
    clock.now += 0.002
    assert state.get("t", KEY) is None


@pytest.mark.parametrize("ttl", [0, -1, 0.999, 1_800.001, float("inf"), float("nan")])
def test_another_time_to_live_is_refused(state, ttl):
    with pytest.raises(TransientEntryError, match=r"1 to 1,800 seconds"):
        state.set("t", KEY, "value", ttl=ttl)
    assert len(state) == 0


@pytest.mark.parametrize(
    "key",
    [
        "",
        "weather",
        "tool.temp.",
        "tool.temporary",
        "tool.weather",
        "Tool.temp.x",
        "user.ann",
        "features.",
        "features." + "x" * 1_000,
    ],
)
def test_a_key_outside_the_namespaces_is_refused_and_not_repeated(state, key):
    with pytest.raises(TransientEntryError, match=r"tool\.temp\., retrieval\.cache\., features\.") as caught:
        state.set("t", key, "value")
    assert "ann" not in str(caught.value)
    assert "weather" not in str(caught.value)


def test_threads_do_not_see_each_other(state):
    state.set("one", KEY, 1)
    state.set("two", KEY, 2)
    state.forget("one")
    assert (state.get("one", KEY), state.get("two", KEY)) == (None, 2)


def test_what_is_deleted_is_gone_and_may_be_deleted_again(state):
    state.set("t", KEY, 1)
    state.delete("t", KEY)
    state.delete("t", KEY)
    state.forget("nobody")
    assert state.get("t", KEY, "gone") == "gone"


def test_an_entry_that_is_set_again_lives_anew(state, clock):
    state.set("t", KEY, "old")
    clock.now += 899
    state.set("t", KEY, "new")
    clock.now += 899
    assert state.get("t", KEY) == "new"
    assert len(state) == 1


def test_the_oldest_go_first(clock):
    state = TransientState(clock=clock, max_entries=3)
    for number in range(3):
        state.set("t", f"tool.temp.{number}", number)
    state.set("t", "tool.temp.0", "again")
    state.set("t", "tool.temp.3", 3)
    assert [state.get("t", f"tool.temp.{number}") for number in range(4)] == ["again", None, 2, 3]


def test_large_values_push_older_ones_out(clock):
    state = TransientState(clock=clock, max_chars=1_000)
    assert state.set("t", "tool.temp.a", "x" * 600)
    assert state.set("t", "tool.temp.b", ["y" * 500])
    assert state.get("t", "tool.temp.a") is None
    assert state.get("t", "tool.temp.b") == ["y" * 500]


@dataclass
class Found:
    page: str


@pytest.mark.parametrize(
    "value",
    [
        "x" * 1_001,
        b"x" * 1_001,
        {"x" * 600: ["y" * 600]},
        Found("x" * 1_001),
        np.zeros(1_001, np.uint8),
        [[] for _ in range(20)],
    ],
    ids=["text", "bytes", "mapping", "object", "array", "many"],
)
def test_a_value_larger_than_all_that_may_be_held_is_not_kept(clock, value):
    state = TransientState(clock=clock, max_chars=1_000)
    state.set("t", "tool.temp.small", "stays")
    state.set("t", KEY, "old")
    assert not state.set("t", KEY, value)
    assert state.get("t", KEY) is None
    assert state.get("t", "tool.temp.small") == "stays"


def test_a_value_that_holds_itself_or_a_module_is_measured_once(clock):
    state = TransientState(clock=clock, max_chars=1_000)
    value = [pickle, dict]
    value.append(value)
    assert state.set("t", KEY, value)


def test_one_call_frees_a_bounded_number_of_what_expired(state, clock):
    for number in range(2 * FREED_AT_ONCE + 1):
        state.set("t", f"tool.temp.{number}", number)
    clock.now += 900
    assert state.get("t", "tool.temp.0") is None
    assert len(state) == FREED_AT_ONCE + 1
    assert state.get("t", f"tool.temp.{2 * FREED_AT_ONCE}") is None
    state.get("t", KEY)
    assert len(state) == 0


def test_setting_one_key_for_ever_takes_no_more_room(state):
    for number in range(5_000):
        state.set("t", KEY, number)
    assert len(state) == 1
    assert len(state._ends) <= FREED_AT_ONCE + 3


@pytest.mark.parametrize(
    "stored",
    [
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        lambda state: state.__getstate__(),
        JsonPlusSerializer(pickle_fallback=True).dumps_typed,
    ],
)
def test_it_can_not_be_stored(state, stored):
    state.set("t", KEY, "planted")
    with pytest.raises(LeakBlockedError):
        stored(state)


def test_its_text_shows_counts_only(state):
    state.set("thread-of-ann", KEY, "planted")
    assert repr(state) == str(state) == "<TransientState threads=1 entries=1>"


def test_one_for_the_process():
    assert default_transient_state() is default_transient_state()


def test_many_threads_at_once(state):
    failures = []

    def work(name):
        try:
            for number in range(300):
                state.set(name, f"tool.temp.{number % 7}", (name, number))
                found = state.get(name, f"tool.temp.{number % 7}")
                if found != (name, number):
                    failures.append(found)
            state.forget(name)
        except Exception as error:  # noqa: BLE001  # a thread's exception would be lost
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"thread-{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(state) == 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(1, 50)),
        st.tuples(st.just("delete"), st.sampled_from("ab"), st.sampled_from("xyz")),
        st.tuples(st.just("forget"), st.sampled_from("ab")),
        st.tuples(st.just("wait"), st.integers(1, 40)),
    ),
    max_size=60,
)


@given(STEPS)
def test_it_answers_as_a_dictionary_with_ends_would(steps):
    clock = Clock()
    state = TransientState(clock=clock)
    model = {}
    for number, (what, *rest) in enumerate(steps):
        if what == "set":
            thread, key, ttl = rest
            state.set(thread, f"features.{key}", number, ttl)
            model[thread, key] = (number, clock.now + ttl)
        elif what == "delete":
            state.delete(rest[0], f"features.{rest[1]}")
            model.pop(tuple(rest), None)
        elif what == "forget":
            state.forget(rest[0])
            model = {place: entry for place, entry in model.items() if place[0] != rest[0]}
        else:
            clock.now += rest[0]
        for thread in "ab":
            for key in "xyz":
                value, end = model.get((thread, key), (None, 0))
                assert state.get(thread, f"features.{key}") == (value if end > clock.now else None)
    assert len(state) <= len(model)


def test_examples_in_docstrings_hold():
    outcome = doctest.testmod(transient)
    assert outcome.attempted > 0
    assert outcome.failed == 0
