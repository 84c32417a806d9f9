"""How tools/mutants.py reads and draws what it plays."""

from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).parents[3]
ROW = """
[[mutant]]
name = "a"
room = "nodes"
file = "nodes/a.py"
taken = "x = 1"
put = "x = 2"
tests = ["tests/test_a.py"]
"""


@pytest.fixture
def project(tmp_path):
    """A product of one module and one test, with the mutants that are written into its table."""
    for name, text in (("nodes/a.py", "ä = 0\nx = 1\n"), ("tests/test_a.py", ""), ("mutants.toml", ROW)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def read(project):
    from mutants import by_hand

    return by_hand(project / "mutants.toml", project)


def test_a_mutant_changes_its_words_and_nothing_else(project):
    [mutant] = read(project)
    assert mutant.applied(project).decode() == "ä = 0\nx = 2\n"


@pytest.mark.parametrize(
    ("taken", "put", "said"),
    [
        ("x = 1", "x = 3", "a: its words stand in nodes/a.py 0 times instead of once"),
        ("x = 1", " = ", "a: its words stand in nodes/a.py 2 times instead of once"),
        ("nodes/a.py", "nodes/b.py", "a: its words stand in nodes/b.py 0 times instead of once"),
        ("tests/test_a.py", "tests/test_b.py", "a: there is no tests/test_b.py"),
        ('room = "nodes"', 'room = "state"', "a: nodes/a.py is in the room nodes, not in state"),
        ('put = "x = 2"', 'put = "x = ("', "a: nodes/a.py is no Python with it"),
    ],
)
def test_a_mutant_that_fits_nowhere_is_an_error(project, taken, put, said):
    from mutant_trees import MutantError

    (project / "mutants.toml").write_text(ROW.replace(taken, put, 1))
    with pytest.raises(MutantError) as raised:
        read(project)
    assert str(raised.value) == said


def test_a_name_is_given_once(project):
    from mutant_trees import MutantError

    (project / "mutants.toml").write_text(ROW + ROW)
    with pytest.raises(MutantError, match="a: two mutants have this name"):
        read(project)


@pytest.mark.slow
def test_those_of_this_repository_fit_and_are_python():
    """If not, a rewrite has moved the code of one: move it along in tools/mutants.toml, or make one of the same kind."""
    from mutants import BY_HAND, by_hand

    assert by_hand(BY_HAND, ROOT)


def test_a_seed_draws_the_same_ones_again_in_the_rooms_that_are_asked_for():
    from mutants import by_rule

    drawn = [by_rule(5, Random(seed), ["state"], ROOT) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {mutant.room for mutant in drawn[0]} == {"state"}


class ScriptedTree:
    """A tree whose runs of tests end as they are told to, one after the other."""

    def __init__(self, root, *runs):
        self.root = root
        self._runs = list(runs)

    def with_mistake(self, mutant):
        return nullcontext()

    def run(self, tests, seconds):
        return self._runs.pop(0)


class Nowhere:
    def files(self, mutant):
        return ["tests/test_b.py"]


@pytest.mark.parametrize(
    ("runs", "result", "by"),
    [
        ([(1, "tests/test_a.py::test"), (1, ""), (0, "")], "killed", "tests/test_a.py::test"),
        ([(0, ""), (1, "tests/test_b.py::test"), (1, ""), (0, "")], "killed", "tests/test_b.py::test"),
        ([(None, ""), (0, "")], "killed", "timeout of 240 s: tests/test_a.py, 0 s without it"),
        ([(0, ""), (0, "")], "SURVIVED", "1 files or folders beside its own"),
        ([(0, ""), (None, "")], "SURVIVED", "within 120 s"),
        (
            [(1, "tests/test_a.py::test[1]"), (1, ""), (1, "")],
            "UNSURE",
            "tests/test_a.py::test[1] fails without it: tests/test_a.py::test[1]",
        ),
        (
            [(1, "tests/test_a.py::test"), (0, "")],
            "UNSURE",
            "tests/test_a.py::test passes with it: tests/test_a.py::test",
        ),
        ([(5, ""), (1, "tests/test_b.py::test"), (1, ""), (0, "")], "killed", "tests/test_b.py::test"),
        (
            [(2, "no test could be collected"), (2, ""), (2, "")],
            "UNSURE",
            "tests/test_a.py fails without it: no test could be collected",
        ),
    ],
)
def test_a_kill_counts_if_its_test_fails_alone_and_passes_without_the_mutant(project, runs, result, by):
    from mutants import Baseline, play

    [mutant] = read(project)
    outcome = play(mutant, ScriptedTree(project, *runs), Baseline(), Nowhere(), 120)
    assert (outcome.result, outcome.by) == (result, by)


def test_the_rate_is_told_by_room():
    from mutants import Outcome, rates

    outcomes = [Outcome("a", "state", "killed", "", 1.0), Outcome("b", "state", "SURVIVED", "", 1.0)]
    assert rates(outcomes) == {"state": (1, 2)}
