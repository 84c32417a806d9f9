"""Run the benchmarks side by side with their peers: `make bench`, `make bench QUICK=1`, `make bench ONLY="recall turn"`.

Each benchmark is a process of its own with a limit of time; one that fails or is stopped costs the others nothing, its failure is
in the results, and the exit code is 1. Written are `results.json`, `results.md` and `results.svg` in benchmarks/results, in
build/bench for a quick run; with `--only`, in place of the last ones of these benchmarks. Then the short list is put between
the marks of README.md and docs/benchmarks.md; `--tables` does only that. `--list` tells what there is.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from suite.declared import BENCHMARKS
from suite.plots import draw
from suite.results import Results
from suite.running import Benchmark, run
from suite.tables import deciding_list, everything, short_list, summary, write_between_marks

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks" / "results"
QUICK = ROOT / "build" / "bench"
DOCUMENTS = {ROOT / "README.md": deciding_list, ROOT / "docs" / "benchmarks.md": short_list}
NAMES = [benchmark.name for benchmark in BENCHMARKS]


def main() -> int:
    """Run what the options ask for, and return 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few minutes; the ratios are smaller then")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--list", action="store_true", help="tell the benchmarks")
    parser.add_argument("--tables", action="store_true", help="run nothing, write the tables of the last results")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{each.name:18}{each.what}" for each in BENCHMARKS))
        return 0
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a job in the background ignores it, and so would its children
    folder = QUICK if options.quick else KEPT
    chosen = [] if options.tables else [each for each in BENCHMARKS if each.name in options.only]
    results = measure(chosen, Results.read(folder / "results.json"), folder, quick=options.quick)
    if not options.quick:
        for document, table in DOCUMENTS.items():
            write_between_marks(document, table(results))
    ran = [results.runs[each.name] for each in chosen]
    print("\n".join([short_list(results), "", summary(ran), f"  {folder.relative_to(ROOT)}/results.md has all of it"]))
    return int(any(each.failure for each in ran))


def measure(chosen: list[Benchmark], results: Results, folder: Path, *, quick: bool) -> Results:
    """Run the benchmarks; after each, write what there is."""
    for number, benchmark in enumerate(chosen, start=1):
        print(f"== {number} of {len(chosen)}: {benchmark.name}: {benchmark.what}", file=sys.stderr, flush=True)
        results = results.with_run(run(benchmark, quick=quick), NAMES)
        results.write(folder / "results.json")
    if chosen:
        results = Results.read(folder / "results.json")  # as it was rounded: all tables say the same
    (folder / "results.md").write_text(everything(results), encoding="utf-8")
    draw(results, folder / "results.svg")
    return results


if __name__ == "__main__":
    sys.exit(main())
