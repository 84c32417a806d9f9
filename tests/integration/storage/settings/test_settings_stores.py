"""What every settings store does: the fake and the one in the database."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from discreet.errors import InvalidUserError, SettingRefusedError
from discreet.state.memory_settings import MemorySettings
from discreet.testing import InMemorySettingsStore


async def test_what_is_not_set_comes_from_the_environment(store):
    assert (store.live.memory_retrieve_limit, store.live.embedding_provider) == (7, "local")
    assert await store.read() == store.live
    assert await store.overridden() == frozenset()


async def test_a_change_holds_at_once_and_is_told(store):
    before = datetime.now(UTC) - timedelta(seconds=5)
    after = await store.change({"memory_retrieve_limit": 3, "memory_extraction_provider": "google"}, by="ann")
    assert (after.memory_retrieve_limit, after.memory_extraction_provider) == (3, "google")
    assert store.live == after == await store.read()
    assert await store.overridden() == {"memory_retrieve_limit", "memory_extraction_provider"}
    (_, later), (_, earlier) = await store.history()
    assert [(c.name, c.old, c.new, c.changed_by) for c in (earlier, later)] == [
        ("memory_extraction_provider", None, "google", "ann"),
        ("memory_retrieve_limit", None, 3, "ann"),
    ]
    assert before < earlier.changed_at == later.changed_at < datetime.now(UTC) + timedelta(seconds=5)


async def test_none_gives_a_setting_back_to_the_environment(store):
    await store.change({"memory_retrieve_limit": 3, "memory_retrieve_threshold": 0.4}, by="ann")
    after = await store.change({"memory_retrieve_limit": None}, by="bob")
    assert (after.memory_retrieve_limit, after.memory_retrieve_threshold) == (7, 0.4)
    assert await store.overridden() == {"memory_retrieve_threshold"}
    change = (await store.history())[0][1]
    assert (change.old, change.new, change.changed_by) == (3, None, "bob")


async def test_what_stays_as_it_is_is_not_told(store):
    await store.change({"memory_retrieve_limit": 3}, by="ann")
    await store.change({"memory_retrieve_limit": 3, "memory_dedup_threshold": None}, by="bob")
    await store.change({}, by="bob")
    assert [change.changed_by for _, change in await store.history()] == ["ann"]


async def test_a_value_equal_to_the_environments_is_set_all_the_same(store):
    await store.change({"memory_retrieve_limit": 7}, by="ann")
    assert await store.overridden() == {"memory_retrieve_limit"}


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"memory_retrieve_limit": 51}, "memory_retrieve_limit: .*less than or equal to 50"),
        ({"memory_retrieve_limit": True}, "memory_retrieve_limit: .*integer"),
        ({"memory_retrieve_limit": "5"}, "memory_retrieve_limit: .*integer"),
        ({"memory_retrieve_limit": 4.5}, "memory_retrieve_limit: .*integer"),
        ({"memory_retrieve_threshold": 1.01}, "memory_retrieve_threshold: .*less than or equal to 1"),
        ({"memory_retrieve_threshold": float("nan")}, "memory_retrieve_threshold"),
        ({"memory_retrieve_threshold": True}, "memory_retrieve_threshold: .*number"),
        ({"memory_extraction_enabled": 1}, "memory_extraction_enabled: .*boolean"),
        (
            {"memory_extraction_provider": "nobody"},
            "memory_extraction_provider: .*'openai', 'anthropic', 'google', 'immediate' or 'offline'",
        ),
        ({"embedding_model": ""}, "embedding_model: .*at least 1 character"),
        ({"embedding_model": "x" * 201}, "embedding_model: .*at most 200 characters"),
        ({"embedding_model": "a\nb"}, "embedding_model: "),
        ({"embedding_model": {"a": [1]}}, "embedding_model: .*string"),
        ({"context_window_size": 999}, "context_window_size: .*greater than or equal to 1000"),
        ({"memory_dedup_threshold": 0.96}, "memory_update_threshold must not be below memory_dedup_threshold"),
        ({"memory_update_threshold": 0.84}, "memory_update_threshold must not be below memory_dedup_threshold"),
        ({"retrieve_limit": 3}, "no setting called retrieve_limit. Did you mean memory_retrieve_limit"),
        ({"zzz": None}, "no setting called zzz. Known: memory_extraction_enabled, "),
    ],
)
async def test_what_cannot_be_used_changes_nothing(store, changes, told):
    with pytest.raises(SettingRefusedError, match=told):
        await store.change({"memory_extraction_interval_hours": 12, **changes}, by="ann")
    assert await store.read() == MemorySettings(memory_retrieve_limit=7, embedding_provider="local")
    assert await store.history() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"memory_extraction_model": "the patient's name " * 50},
        {"memory_retrieve_limit": "the patient's name"},
        {"embedding_provider": ["the patient's name"]},
        {"the patient's name": 1},
        {"the_patients_name" * 20: 1},
    ],
)
async def test_a_refusal_does_not_repeat_what_was_sent(store, changes):
    with pytest.raises(SettingRefusedError) as caught:
        await store.change(changes, by="ann")
    assert "patient" not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"
    assert len(str(caught.value)) < 1_000


async def test_fields_are_checked_together_as_they_would_hold(store):
    after = await store.change({"memory_dedup_threshold": 0.97, "memory_update_threshold": 0.98}, by="ann")
    assert (after.memory_dedup_threshold, after.memory_update_threshold) == (0.97, 0.98)
    with pytest.raises(SettingRefusedError, match="must not be below"):
        await store.change({"memory_update_threshold": None}, by="ann")
    assert store.live == after


@pytest.mark.dialect
async def test_a_whole_number_is_a_threshold_too(store):
    after = await store.change({"memory_retrieve_threshold": 0, "memory_update_threshold": 1}, by="ann")
    assert (after.memory_retrieve_threshold, after.memory_update_threshold) == (0.0, 1.0)
    await store.change({"memory_retrieve_threshold": 0.0}, by="bob")
    assert {change.changed_by for _, change in await store.history()} == {"ann"}


async def test_a_refusal_says_which_fields(store):
    with pytest.raises(SettingRefusedError) as caught:
        await store.change({"memory_retrieve_limit": 0, "embedding_model": ""}, by="ann")
    assert [field for field, _ in caught.value.fields] == ["embedding_model", "memory_retrieve_limit"]


async def test_whoever_changes_has_a_usable_name(store):
    for by in ("", " ", "x" * 201, "a\0b"):
        with pytest.raises(InvalidUserError):
            await store.change({"memory_retrieve_limit": 3}, by=by)
    assert await store.history() == []


async def test_history_is_told_in_pages_newest_first(store):
    for limit in range(1, 8):
        await store.change({"memory_retrieve_limit": limit}, by="ann")
    await store.change({"memory_extraction_enabled": False}, by="ann")
    first = await store.history(name="memory_retrieve_limit", limit=3)
    second = await store.history(name="memory_retrieve_limit", limit=3, before=first[-1][0])
    third = await store.history(name="memory_retrieve_limit", limit=3, before=second[-1][0])
    assert [change.new for _, change in first + second + third] == [7, 6, 5, 4, 3, 2, 1]
    everything = await store.history()
    assert everything[0][1].name == "memory_extraction_enabled"
    assert all(later > earlier for (later, _), (earlier, _) in pairwise(everything))
    assert await store.history(limit=0) == await store.history(limit=-1) == await store.history(name="none") == []


async def test_sixteen_writers_at_once_lose_nothing(store):
    """Each shifts both thresholds, valid only together with the other half of its own change or with the whole."""
    low = {"memory_dedup_threshold": 0.1, "memory_update_threshold": 0.2}
    high = {"memory_dedup_threshold": 0.8, "memory_update_threshold": 0.9}
    halves = [{"memory_dedup_threshold": 0.5}, {"memory_update_threshold": 0.4}]
    await store.change(low, by="first")

    async def write(n):
        changes = [low, high, *halves][n % 4]
        try:
            return await store.change(changes, by=f"writer-{n}")
        except SettingRefusedError:
            return None

    await asyncio.gather(*(write(n) for n in range(16)))
    history = [change for _, change in (await store.history(limit=1_000))[::-1]]
    values: dict[str, object] = {}
    steps = []
    for change in history:
        assert change.old == values.get(change.name), "each change begins where the one before it ended"
        values[change.name] = change.new
        steps.append((change.changed_by, dict(values)))
    ends = [
        after for (by, after), following in zip(steps, [*steps[1:], (None, None)], strict=True) if by != following[0]
    ]
    assert all(end["memory_dedup_threshold"] <= end["memory_update_threshold"] for end in ends)
    assert await store.read() == store.live
    assert (store.live.memory_dedup_threshold, store.live.memory_update_threshold) == tuple(values.values())
    assert [c.changed_at for c in history] == sorted(c.changed_at for c in history)


def test_the_fake_takes_a_clock():
    then = datetime(2026, 1, 2, tzinfo=UTC)
    store = InMemorySettingsStore(clock=lambda: then)
    asyncio.run(store.change({"memory_retrieve_limit": 3}, by="ann"))
    assert asyncio.run(store.history())[0][1].changed_at == then
