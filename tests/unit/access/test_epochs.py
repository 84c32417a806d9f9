"""Under what work began, as a turn's state carries it."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest

from discreet.access.epochs import Beginning, begun, current_beginning, note_run, run_began_after

USER_KEY = UUID(int=7)
AT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize("beginning", [Beginning(USER_KEY, 3), Beginning(None, at=AT)], ids=["epoch", "time"])
def test_a_beginning_is_read_as_it_was_written(beginning):
    assert Beginning.of(str(beginning)) == beginning


@pytest.mark.parametrize("told", ["", "at/", "at/soon", "7", "x/1", f"{USER_KEY}/", f"{USER_KEY}/one"])
def test_another_text_is_no_beginning(told):
    with pytest.raises(ValueError, match=r"UUID|isoformat|literal"):
        Beginning.of(told)


async def test_tasks_of_a_block_began_with_it():
    inner = Beginning(USER_KEY, 2)
    with begun(f"{USER_KEY}/1"):
        with begun(inner):
            assert await asyncio.create_task(_ask()) == inner
        with begun(None):
            assert current_beginning() == Beginning(USER_KEY, 1)
    assert current_beginning() is None


async def _ask():
    return current_beginning()


async def test_what_was_noted_of_a_run_says_nothing_of_another():
    control = object()
    assert run_began_after(control) is None
    note_run(control, AT)
    assert run_began_after(control) == AT
    assert run_began_after(object()) is None
    assert run_began_after(None) is None
