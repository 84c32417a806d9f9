import copy
import doctest
import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from discreet import transient
from discreet.errors import LeakBlockedError, TransientEntryError
from discreet.transient import TransientState, default_transient_state

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


@pytest.mark.parametrize(("seconds", "any_ttl"), [(600, False), (1_800, False), (1, True), (60, True), (86_400, True)])
def test_a_time_to_live_of_ones_own(state, clock, seconds, any_ttl):
    state.set("t", KEY, "value", ttl=seconds, any_ttl=any_ttl)
    clock.now += seconds - 0.001
    assert state.get("t", KEY) == "value"
    clock.now += 0.002
    assert state.get("t", KEY) is None


@pytest.mark.parametrize("ttl", [0, -1, 1, 599.999, 1_800.001, 86_400, float("inf"), float("nan")])
def test_another_time_to_live_is_refused_unless_it_is_asked_for(state, ttl):
    with pytest.raises(TransientEntryError, match=r"600 to 1,800 seconds; any_ttl=True"):
        state.set("t", KEY, "value", ttl=ttl)
    assert len(state) == 0


@pytest.mark.parametrize("ttl", [0, -1, float("inf"), float("nan")])
def test_what_is_no_time_to_live_is_refused_always(state, ttl):
    with pytest.raises(TransientEntryError):
        state.set("t", KEY, "value", ttl=ttl, any_ttl=True)


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


def test_what_expired_is_freed_though_nobody_asks_for_it(state, clock):
    for number in range(20):
        state.set("t", f"tool.temp.{number}", number, ttl=600 + number)
    clock.now += 610
    state.set("t", KEY, "new")
    assert len(state) == 10


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


def test_its_text_shows_nothing_of_it(state):
    state.set("thread-of-ann", KEY, "planted")
    assert not any(word in repr(state) + str(state) for word in ("ann", "weather", "planted"))


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
            state.set(thread, f"features.{key}", number, ttl, any_ttl=True)
            model[thread, key] = (number, clock.now + ttl)
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
