"""What `make bench` makes of its benchmarks: their figures, their failures, intervals, and the tables in the documents."""

import json
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def comparison(**given):
    from suite.results import Comparison

    return Comparison(**{"group": "g", "what": "w", "unit": "ms", "ours": 1.0, "peer": "p", "theirs": 2.0} | given)


def ran(tmp_path, program, *, seconds=60.0):
    """Return the run of a benchmark that is `program`."""
    from suite.running import Benchmark, run

    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/one.py").write_text(program)
    return run(Benchmark("one.py", "something", seconds), quick=False, folder=tmp_path / "benchmarks")


def printing(figures, *, status=0):
    return f"import sys\nprint({json.dumps(json.dumps(figures))})\nsys.exit({status})"


FIGURE = {
    "group": "g",
    "what": "p50: peer",
    "unit": "ms",
    "stock": 4.0,
    "ours": 2.0,
    "peer": "peer",
    "pairs": 7,
    "interval": [0.4, 0.6],
}


def test_figures_of_a_benchmark_are_read(tmp_path):
    run = ran(tmp_path, printing({"machine": "this one", "figures": [FIGURE]}))
    assert (run.failure, run.missed, run.machine) == (None, False, "this one")
    [figure] = run.figures
    assert (figure.what, figure.peer, figure.ratio, figure.interval) == ("p50", "peer", 0.5, (0.4, 0.6))


def test_a_missed_target_leaves_the_figures(tmp_path):
    run = ran(tmp_path, printing({"machine": "", "figures": [FIGURE]}, status=1))
    assert run.missed
    assert len(run.figures) == 1


@pytest.mark.parametrize(
    ("program", "failure"),
    [
        ("raise SystemExit(3)", "no figures, exit code 3"),
        ("print('{\"figures\": [{}]}')", "no figures, exit code 0"),
        ("print('a table')", "no figures, exit code 0"),
    ],
)
def test_a_benchmark_without_figures_is_recorded_as_a_failure(tmp_path, program, failure):
    run = ran(tmp_path, program)
    assert (run.failure, run.figures) == (failure, [])


@pytest.mark.slow
def test_a_benchmark_is_stopped_when_its_time_is_over(tmp_path):
    assert ran(tmp_path, "import time; time.sleep(600)", seconds=0.5).failure == "stopped after 0 seconds"


def test_results_are_read_as_they_were_written(tmp_path):
    from suite.results import Results, Run

    figures = [comparison(interval=(0.25, 0.75), pairs=9), comparison(peer=None, theirs=None)]
    results = Results().with_run(Run("b", "python b", 1.5, figures=figures), ["a", "b"])
    results = results.with_run(Run("a", "python a", 2.0, failure="why"), ["a", "b"])
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results
    assert list(results.runs) == ["a", "b"]


def test_a_benchmark_that_ran_again_replaces_its_last_run():
    from suite.results import Results, Run

    results = Results().with_run(Run("a", "python a", 1.0), ["a"]).with_run(Run("a", "python a", 2.0), ["a"])
    assert [run.seconds for run in results.runs.values()] == [2.0]


def test_the_interval_of_a_ratio_holds_the_ratio_and_not_the_noise_of_the_machine():
    from comparing.intervals import ratio_interval

    draw = random.Random(1)
    noise = [draw.uniform(1, 5) for _ in range(60)]
    low, high = ratio_interval([4 * each for each in noise], [1 * each * draw.uniform(0.95, 1.05) for each in noise])
    assert low < 0.25 < high
    assert high - low < 0.05


def test_few_pairs_have_no_interval():
    from comparing.intervals import ratio_interval

    assert ratio_interval([1, 1, 1, 1], [2, 2, 2, 2]) is None
    assert ratio_interval([1] * 5, [2] * 5) == (2, 2)
    assert ratio_interval([1] * 6, [2] * 5) is None
    assert ratio_interval([0] * 5, [2] * 5) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "better: 2 times faster"),
        ({"ours": 4.0}, "worse: 2 times as long"),
        ({"interval": (0.4, 0.8), "pairs": 7}, "better: 2 times faster [1.25–2.5; 7 pairs]"),
        ({"interval": (0.4, 1.1), "pairs": 7}, "no clear difference: 2 times faster [0.909–2.5; 7 pairs]"),
        ({"unit": "a second"}, "worse: 2 times less"),
        ({"unit": "MB"}, "better: 2 times less"),
        ({"unit": "of 200", "ours": 0.0}, "better"),
        ({"unit": "of 200", "theirs": 0.0}, "worse"),
        ({"unit": "%", "ours_interval": (0.0, 1.5), "theirs_interval": (1.8, 3.0)}, "better"),
        ({"unit": "%", "ours_interval": (0.0, 2.0), "theirs_interval": (1.8, 3.0)}, "no clear difference"),
        ({"theirs": 1.0}, "the same"),
        ({"peer": None, "theirs": None}, ""),
    ],
)
def test_it_is_said_who_is_better(given, said):
    from suite.tables import verdict

    assert verdict(comparison(**given)) == said


def test_a_failure_stands_in_the_report():
    from suite.results import Results, Run
    from suite.tables import everything

    assert "Failed: stopped after 9 seconds." in everything(
        Results({"a": Run("a", "python benchmarks/a.py", 9.0, failure="stopped after 9 seconds")})
    )


def test_engines_are_read_beside_ours():
    from suite.readers import engines

    line = {"group": "g", "what": "leaked", "unit": "%", "interval": [0, 2], "pairs": 1, "ratio_interval": None}
    rows = [
        {**line, "engine": "discreet", "value": 1.0},
        {**line, "engine": "peer", "value": 50.0, "interval": [40, 60]},
    ]
    [figure] = engines({"figures": rows}, "stock")
    assert (figure.ours, figure.theirs, figure.peer) == (1.0, 50.0, "peer")
    assert (figure.ours_interval, figure.theirs_interval) == ((0, 2), (40, 60))


def test_every_benchmark_that_is_declared_is_there():
    from suite.declared import BENCHMARKS as DECLARED

    assert [each.script for each in DECLARED if not (BENCHMARKS / each.script).is_file()] == []


def test_tables_are_what_the_kept_results_give_and_every_claim_has_a_figure():
    import run
    from suite.declared import CLAIMS
    from suite.results import Results
    from suite.tables import BEGIN, between_marks, claimed, everything

    results = Results.read(BENCHMARKS / "results/results.json")
    assert [claim.title for claim in CLAIMS if not claimed(results, claim)] == []
    for document, table in run.DOCUMENTS.items():
        text = document.read_text(encoding="utf-8")
        assert BEGIN in text
        assert text == between_marks(text, table(results)), "run `python benchmarks/run.py --tables`"
    assert (BENCHMARKS / "results/results.md").read_text(encoding="utf-8") == everything(results)


def test_the_runner_tells_what_there_is(monkeypatch, capsys):
    import run

    monkeypatch.setattr(sys, "argv", ["run.py", "--list"])
    assert run.main() == 0
    assert "recall" in capsys.readouterr().out
