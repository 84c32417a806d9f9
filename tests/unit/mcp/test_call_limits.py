"""How often a user may call tools."""

import pytest

from discreet.errors import CallLimitError
from discreet.mcp import call_limits
from discreet.mcp.call_limits import CallLimits


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_burst_is_taken_and_what_comes_after_it_waits(clock):
    limits = CallLimits(60, clock=clock)
    for _ in range(60):
        limits.take("ann")
    with pytest.raises(CallLimitError) as refused:
        limits.take("ann")
    assert refused.value.retry_after_seconds == 1
    assert "1 seconds" in str(refused.value)


def test_who_waits_as_told_may_call_again(clock):
    limits = CallLimits(2, clock=clock)
    limits.take("ann")
    limits.take("ann")
    with pytest.raises(CallLimitError) as refused:
        limits.take("ann")
    clock.now += refused.value.retry_after_seconds - 1
    with pytest.raises(CallLimitError):
        limits.take("ann")
    clock.now += 1
    limits.take("ann")
    with pytest.raises(CallLimitError):
        limits.take("ann")


def test_no_more_calls_are_saved_up_than_there_are_in_a_minute(clock):
    limits = CallLimits(2, clock=clock)
    limits.take("ann")
    clock.now += 3600
    limits.take("ann")
    limits.take("ann")
    with pytest.raises(CallLimitError):
        limits.take("ann")


def test_one_users_calls_cost_another_none(clock):
    limits = CallLimits(1, clock=clock)
    limits.take("ann")
    limits.take("bob")
    with pytest.raises(CallLimitError):
        limits.take("ann")


def test_it_remembers_so_many_users_and_no_more(clock, monkeypatch):
    monkeypatch.setattr(call_limits, "MAX_REMEMBERED", 2)
    limits = CallLimits(1, clock=clock)
    for user in ("ann", "bob", "carol"):
        limits.take(user)
    limits.take("ann")
    with pytest.raises(CallLimitError):
        limits.take("carol")
