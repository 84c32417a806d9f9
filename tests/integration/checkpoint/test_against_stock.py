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

pytestmark = pytest.mark.slow

WANTED = os.environ.get("DISCREET_TEST_PROGRAMS", "")


def some(count: int) -> settings:
    """Return how many programs to play, and how."""
    return settings(max_examples=int(WANTED or count), derandomize=not WANTED, database=None)


UNANSWERED = Program(
    (Stage("say"), Stage("sub", inner=(Stage("say"), Stage("say"))), Stage("say"), Stage("tool", asks=True)),
    (Op("say"), Op("say", fails=8), Op("go_on")),
)
"""A subgraph fails while the conversation that it was given has a call which the user left unanswered."""


PAUSED_ON_RAW = Program(
    (Stage("hear"), Stage("say"), Stage("ask")), (Op("say"), Op("restart"), Op("resume", answer="no"))
)
"""Another process answers a question where all that was said has its answer, and one where it hasn't."""

BESIDE = Program(
    (Stage("say"), Stage("tool", told=True), Stage("ask")),
    (Op("beside"), Op("resume", answer="yes"), Op("beside", fails=2), Op("say"), Op("resume"), Op("resend")),
    foreign_ids=True,
)
"""Turns of LangGraph's saver on the rows of ours wait, fail and are gone on from."""

DELETED_MEANWHILE = Program(
    (Stage("say"), Stage("memo", inner=(Stage("ask"),))), (Op("say"), Op("late"), Op("say"), Op("resume"), Op("late"))
)
"""A thread is deleted while it runs, and its id is used again at once."""

RETRIED_CALLS = Program((Stage("calls", count=2),), (Op("say", fails=7), Op("go_on")))
"""Of two calls that end the turn one is made again."""

SHOWN_AT_A_STOP = Program(
    (Stage("end", count=2), Stage("say")), (Op("say"), Op("late"), Op("say"), Op("say")), breakpoint=1, foreign_ids=True
)
"""The user goes on by a message where a run stopped behind a call, whose text they have read."""


@some(40)
@given(program=programs)
@example(program=UNANSWERED)
@example(program=PAUSED_ON_RAW)
@example(program=BESIDE)
@example(program=DELETED_MEANWHILE)
@example(program=RETRIED_CALLS)
@example(program=SHOWN_AT_A_STOP)
def test_random_programs_do_what_they_do_over_the_stock_saver(program):
    play_in_memory(program)


@some(1000)
@given(program=programs)
def test_many_random_programs_do_what_they_do_over_the_stock_saver(program):
    play_in_memory(program)


@pytest.mark.dialect
def test_random_programs_do_the_same_over_postgres(empty_database):
    with open_postgres(empty_database) as play:
        some(8)(given(program=programs)(play))()
