"""What values of the database come to over those of the environment."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import SettingRefusedError
from discreet.state.memory_settings import NAMES, MemorySettings, changed, in_force

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 3_000) | st.floats(-0.5, 1.5) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=3,
)
names = st.sampled_from(NAMES) | st.text(max_size=12)
anything = st.dictionaries(names, json_values, max_size=6)
thresholds = st.fixed_dictionaries(
    {}, optional={"memory_dedup_threshold": st.floats(0, 1), "memory_update_threshold": st.floats(0, 1)}
)


@pytest.mark.slow
@given(anything | thresholds)
def test_whatever_the_database_says_something_usable_holds(values):
    settings, left_out = in_force(MemorySettings(), values)
    MemorySettings.model_validate(settings.model_dump(), strict=True)
    used = values.keys() - set(left_out)
    assert all(getattr(settings, name) == values[name] for name in used)
    assert all(getattr(settings, name) == getattr(MemorySettings(), name) for name in NAMES if name not in used)


@given(anything, anything | thresholds)
def test_what_was_taken_holds_and_is_told_whole(first, second):
    values: dict[str, object] = {}
    told: dict[str, object] = {}
    base = MemorySettings()
    for changes in (first, second):
        with suppress(SettingRefusedError):
            after = changed(base, values, changes)
            assert in_force(base, after.values) == (after.settings, [])
            for name, old, new in after.differences:
                assert told.get(name) == old != new
                told[name] = new
            values = after.values
    assert {name: value for name, value in told.items() if value is not None} == values


def test_two_thresholds_that_hold_only_together_are_both_used():
    settings, left_out = in_force(MemorySettings(), {"memory_dedup_threshold": 0.97, "memory_update_threshold": 0.98})
    assert (settings.memory_dedup_threshold, left_out) == (0.97, [])


def test_one_that_cannot_be_used_costs_no_other():
    settings, left_out = in_force(MemorySettings(), {"embedding_model": "", "memory_retrieve_limit": 9, "later": 1})
    assert (settings, left_out) == (MemorySettings(memory_retrieve_limit=9), ["later", "embedding_model"])
