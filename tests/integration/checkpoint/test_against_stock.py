"""Random graphs and operations: over our saver they do what they do over LangGraph's own, but for what the policy drops.

DISCREET_TEST_PROGRAMS=1000 plays as many, anew each time; otherwise a few are played, always the same.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings

# The programs and the model are a package of their own.
sys.path.insert(0, str(Path(__file__).parent / "stock"))
pytest.register_assert_rewrite("against_stock.play")

from against_stock.programs import Op, Program, Stage, programs  # noqa: E402  # as above
from against_stock.savers import open_postgres, play_in_memory  # noqa: E402  # as above

WANTED = os.environ.get("DISCREET_TEST_PROGRAMS", "")


def some(count: int) -> settings:
    """Return how many programs to play, and how."""
    return settings(max_examples=int(WANTED or count), derandomize=not WANTED, database=None)


UNANSWERED = Program(
    (Stage("say"), Stage("sub", inner=(Stage("say"), Stage("say"))), Stage("say"), Stage("tool", asks=True)),
    (Op("say"), Op("say", fails=8), Op("go_on")),
)
"""A subgraph fails while the conversation that it was given has a call which the user left unanswered."""


@some(40)
@given(program=programs)
@example(program=UNANSWERED)
def test_random_programs_do_what_they_do_over_the_stock_saver(program):
    play_in_memory(program)


@pytest.mark.slow
@some(1000)
@given(program=programs)
def test_many_random_programs_do_what_they_do_over_the_stock_saver(program):
    play_in_memory(program)


def test_random_programs_do_the_same_over_postgres(empty_database):
    with open_postgres(empty_database) as play:
        some(8)(given(program=programs)(play))()
