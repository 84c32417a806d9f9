"""The collector is off while a program starts, and on afterwards."""

import gc

import pytest

from discreet import quick_start


@pytest.fixture(autouse=True)
def as_before():
    yield
    gc.enable()
    gc.unfreeze()


def test_the_collector_is_off_until_the_program_has_started():
    quick_start.begin()
    assert not gc.isenabled()
    quick_start.started()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1000


def test_it_is_on_after_a_while_at_the_latest(monkeypatch):
    monkeypatch.setattr(quick_start, "LONGEST_SECONDS", 0.0)
    quick_start.begin()
    for _ in range(1_000):
        if gc.isenabled():
            break
        quick_start.threading.Event().wait(0.01)
    assert gc.isenabled()


def test_where_it_was_never_off_nothing_changes():
    frozen = gc.get_freeze_count()
    quick_start.started()
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen
