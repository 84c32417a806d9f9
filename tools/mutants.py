"""Change the product one mistake at a time, and see which test notices.

    python tools/mutants.py [--only ROOM] [--name NAME] [--sample N] [--seed S] [--jobs N] [--json]   those of mutants.toml
    python tools/mutants.py --random N [--seed S] [--only ROOM] [--budget SECONDS] ...                made by rule
    python tools/mutants.py --list                                                                    print, play none
    python tools/mutants.py --map [TESTS ...] [--jobs N]       note which functions the files of the fast suite call

Each mutant is played in a copy of the working tree, with the tests that have to notice it, then, if they don't, with those
that call the function (by `--map`, kept in build/mutants; without it those of its room's folders), unit tests first, for at
most `--budget` seconds. Before a kill counts, the test that noticed has to fail once more, run alone, and to pass without
the mutant; else it is UNSURE.

Exit code 1 if a mutant survives (of random ones some do: with --random it is 0), 2 if one is UNSURE or can't be played.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from callers import Choosing, make_map
from mutant_trees import NOTHING_RAN, PASSED, ROOT, Mutant, MutantError, Tree, product_files, room_of
from mutations import Mutation, compiles, mutations_of
from scratch import interrupt_when_ended, scratch_folder

BY_HAND = Path(__file__).with_suffix(".toml")
OWN_SECONDS = 240.0
"""For the tests that have to notice a mutant: the longest of them take a minute, on a busy machine three."""
BUDGET_SECONDS = 120.0


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant. `by` is the test that noticed it."""

    name: str
    room: str
    result: str
    by: str
    seconds: float


def by_hand(table: Path, root: Path) -> list[Mutant]:
    """Read the mutants of a file.

    Raises:
        MutantError: The words that one replaces don't stand in its file exactly once, its tests are not there, or its
            file is no Python with it.
    """
    mutants, wrong = [], []
    for row in tomllib.loads(table.read_text(encoding="utf-8"))["mutant"]:
        name, file, taken = row["name"], row["file"], row["taken"].encode()
        source = (root / file).read_bytes() if (root / file).is_file() else b""
        if (count := source.count(taken)) != 1:
            wrong.append(f"{name}: its words stand in {file} {count} times instead of once")
        wrong += [f"{name}: there is no {test}" for test in row["tests"] if not (root / test).is_file()]
        if row["room"] != room_of(file):
            wrong.append(f"{name}: {file} is in the room {room_of(file)}, not in {row['room']}")
        start = source.find(taken)
        mutant = Mutant(name, row["room"], file, start, start + len(taken), row["put"], tuple(row["tests"]))
        if count == 1 and file.endswith(".py") and not compiles(mutant.applied(root)):
            wrong.append(f"{name}: {file} is no Python with it")
        mutants.append(mutant)
    names = [mutant.name for mutant in mutants]
    wrong += [f"{name}: two mutants have this name" for name in set(names) if names.count(name) > 1]
    if wrong:
        raise MutantError("\n".join(wrong))
    return mutants


def by_rule(count: int, draw: random.Random, rooms: Iterable[str], root: Path) -> list[Mutant]:
    """Draw `count` mutants: a file, the larger the likelier, then a kind of mistake, then a place."""
    files = {path.relative_to(root).as_posix(): path.stat().st_size for path in product_files(root)}
    wanted = set(rooms)
    files = {file: size for file, size in files.items() if not wanted or room_of(file) in wanted}
    found: dict[str, list[Mutation]] = {}
    mutants: dict[str, Mutant] = {}
    for _ in range(100 * count):
        if len(mutants) == count:
            break
        file = draw.choices(list(files), weights=list(files.values()))[0]
        source = (root / file).read_bytes()
        if file not in found:
            found[file] = mutations_of(source)
        if not found[file]:
            continue
        kind = draw.choice(sorted({each.kind for each in found[file]}))
        made = draw.choice([each for each in found[file] if each.kind == kind])
        if compiles(made.applied_to(source)):
            words = f"{' '.join(source[made.start : made.end].decode().split())!r} -> {' '.join(made.put.split())!r}"
            name = f"{file}:{made.line} {made.kind}: {words}"
            mutants[name] = Mutant(
                name, room_of(file), file, made.start, made.end, made.put, (), made.scope, made.in_function
            )
    return list(mutants.values())


class Baseline:
    """What tests do without any mutant, asked once each."""

    def __init__(self) -> None:
        self._locks: dict[Sequence[str], threading.Lock] = defaultdict(threading.Lock)
        self._seconds: dict[Sequence[str], float | None] = {}

    def seconds(self, tree: Tree, tests: Sequence[str]) -> float | None:
        """Return how long tests or files of them take; None if one fails. `tree` is as it was copied."""
        with self._locks[tests]:
            if tests not in self._seconds:
                began = time.monotonic()
                passes = tree.run(tests, 2 * OWN_SECONDS)[0] == PASSED
                self._seconds[tests] = time.monotonic() - began if passes else None
            return self._seconds[tests]


def play(mutant: Mutant, tree: Tree, baseline: Baseline, choosing: Choosing, budget: float) -> Outcome:
    """Play one mutant: its own tests first, then those that reach the place."""
    began = time.monotonic()

    def outcome(result: str, by: str = "") -> Outcome:
        return Outcome(mutant.name, mutant.room, result, by, round(time.monotonic() - began, 1))

    code, by, tests = PASSED, "", mutant.tests
    with tree.with_mistake(mutant):
        if tests:
            code, by = tree.run(tests, OWN_SECONDS)
        if code in (PASSED, NOTHING_RAN):
            own, tests = tests, tuple(test for test in choosing.files(mutant) if test not in mutant.tests)
            if tests:
                code, by = tree.run(tests, budget)
                if code is None:
                    return outcome("SURVIVED", f"within {budget:.0f} s")
            elif not own:
                return outcome("SURVIVED", "no test is known to call it")
        if code in (PASSED, NOTHING_RAN):
            says = f"{len(tests)} files or folders beside its own" if code == PASSED else "no test ran"
            return outcome("SURVIVED", says)
        asked = tuple(tests) if code is None else _those_that_noticed(by, tests, tree)
        if code is not None and tree.run(asked, OWN_SECONDS)[0] in (PASSED, NOTHING_RAN):
            return outcome("UNSURE", f"{' '.join(asked)} passes with it: {by}")
    return outcome(*_confirmed(code, by, asked, tree, baseline))


def _those_that_noticed(by: str, tests: Sequence[str], tree: Tree) -> tuple[str, ...]:
    """Return what to run again where `by` is the test that failed, or what pytest said last."""
    file = by.partition("::")[0]
    if not (tree.root / file).is_file():  # no module could be imported
        return tuple(tests)
    if "[" in by and not by.endswith("]"):  # an id that was cut off
        return (file,)
    return (by,)  # the same case: `fast_cases` may choose others of its test where it runs alone


def _confirmed(code: int | None, by: str, asked: tuple[str, ...], tree: Tree, baseline: Baseline) -> tuple[str, str]:
    """Return the result where tests failed or, with None as the `code`, took too long, and what tells so."""
    seconds = baseline.seconds(tree, asked)
    if seconds is None:
        return "UNSURE", f"{' '.join(asked)} fails without it: {by}"
    if code is not None:
        return "killed", by
    says = f"timeout of {OWN_SECONDS:.0f} s: {' '.join(asked)}, {seconds:.0f} s without it"
    return ("UNSURE" if seconds > OWN_SECONDS / 2 else "killed"), says


def play_all(mutants: Sequence[Mutant], jobs: int, budget: float) -> Iterator[Outcome]:
    """Play mutants, `jobs` at a time, each job in a tree of its own."""
    choosing, baseline = Choosing(ROOT), Baseline()
    free: SimpleQueue[Tree] = SimpleQueue()
    with scratch_folder() as folder:
        trees = [Tree(folder / str(number)) for number in range(min(jobs, len(mutants)))]
        for each in trees:
            free.put(each)

        def played(mutant: Mutant) -> Outcome:
            tree = free.get()
            try:
                return play(mutant, tree, baseline, choosing, budget)
            finally:
                free.put(tree)

        pool = ThreadPoolExecutor(jobs)
        try:
            for done in as_completed([pool.submit(played, mutant) for mutant in mutants]):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for each in trees:
                each.stop()
            pool.shutdown()


def rates(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """Return by room how many mutants were killed, and of how many."""
    rooms = sorted({outcome.room for outcome in outcomes})
    of = {room: [outcome.result for outcome in outcomes if outcome.room == room] for room in rooms}
    return {room: (results.count("killed"), len(results)) for room, results in of.items()}


def chosen(options: argparse.Namespace) -> list[Mutant]:
    """Return the mutants that the command line asks for."""
    rooms = {room.rstrip("/").rpartition("/")[2] for room in options.only}
    known = {room_of(path.relative_to(ROOT).as_posix()) for path in product_files(ROOT)}
    if unknown := rooms - known:
        raise MutantError(f"There is no room {', '.join(sorted(unknown))}. Rooms: {', '.join(sorted(known))}")
    draw = random.Random(options.seed)  # noqa: S311 - a sample, which a seed repeats
    if options.random:
        return by_rule(options.random, draw, rooms, ROOT)
    made = by_hand(BY_HAND, ROOT)
    if unknown := set(options.name) - {mutant.name for mutant in made}:
        raise MutantError(f"There is no mutant {', '.join(sorted(unknown))}: `--list` prints those there are.")
    mutants = [
        mutant
        for mutant in made
        if (not rooms or mutant.room in rooms) and (not options.name or mutant.name in options.name)
    ]
    if not mutants:
        raise MutantError(f"{BY_HAND.name} has no mutant of {', '.join(options.only)}: `--random N` makes some.")
    return draw.sample(mutants, min(options.sample, len(mutants))) if options.sample else mutants


def _positive(given: str) -> int:
    number = int(given)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{given} is less than 1")
    return number


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", metavar="ROOM", action="append", default=[], help="a room, as in graph or checkpoint; may be repeated"
    )
    parser.add_argument("--name", action="append", default=[], help="one of mutants.toml; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the mutants, play none")
    parser.add_argument("--sample", type=_positive, metavar="N", help="of those of mutants.toml so many")
    parser.add_argument("--random", type=_positive, metavar="N", help="so many made by rule instead")
    parser.add_argument("--seed", type=int, default=0, help="draws samples and random ones (default 0)")
    parser.add_argument("--jobs", type=_positive, default=2, help="mutants played at a time (default 2)")
    parser.add_argument(
        "--budget", type=float, default=BUDGET_SECONDS, help="seconds a mutant beyond its own tests (default 120)"
    )
    parser.add_argument(
        "--map",
        metavar="TESTS",
        nargs="*",
        help="note which functions each test file calls, of all or of some anew; play none",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line and mutant")
    options = parser.parse_args()
    if options.random and (options.name or options.sample):
        parser.error("--random makes mutants of its own: --name and --sample are for those of mutants.toml.")
    interrupt_when_ended()
    if options.map is not None:
        return make_map(options.map, options.jobs)
    try:
        mutants = chosen(options)
        if options.list:
            print("\n".join(f"{mutant.room}: {mutant.name} ({mutant.file})" for mutant in mutants))
            return 0
        outcomes = []
        for outcome in play_all(mutants, options.jobs, options.budget):
            outcomes.append(outcome)
            line = f"{outcome.result:8} {outcome.seconds:6.1f} s  {outcome.name}: {outcome.by}"
            print(json.dumps(asdict(outcome)) if options.json else line, flush=True)
    except MutantError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return _said(outcomes, options)


def _said(outcomes: Sequence[Outcome], options: argparse.Namespace) -> int:
    """Print the rates and return the exit code."""
    of: Mapping[str, tuple[int, int]] = rates(outcomes)
    if not options.json:
        for room, (killed, all_) in of.items():
            print(f"{room:12} {killed} of {all_} killed")
        print(f"{sum(killed for killed, _ in of.values())} of {len(outcomes)} killed")
    results = {outcome.result for outcome in outcomes}
    if "UNSURE" in results:
        return 2
    return 1 if "SURVIVED" in results and not options.random else 0


if __name__ == "__main__":
    sys.exit(main())
