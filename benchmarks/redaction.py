"""What redaction catches, what it masks without need, and what it costs: `python benchmarks/redaction.py`.

Leaks and wrong masks are shares with Wilson 95 % intervals. A value is caught if at least 80 % of its letters and digits
are hidden at the very place where the text has it; the leak rate is 1 - caught. The same rows go to LangChain's
PIIMiddleware detectors and, where they are installed, to Presidio's pattern recognisers and to Kingfisher; names of
people are looked for by our optional recognisers of names and by Presidio over a model of spaCy. Beside the sets stand
the phrases of `redaction_sets/phrases`; texts of their held-out part are never printed. Times are CPU time, medians of
interleaved runs. At the end stand the targets, and the exit code is 1 if one of them is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redacting import catching, naming, phrasing, plot, speed
from redacting.engines import Engine, Ours, peers
from redacting.hunt import hunt
from redacting.report import NOTHING_EARLIER, Earlier, Figure, as_json, as_text, read_earlier, share
from redacting.rows import CORE, FORMAT, Sets, find_folder, generated_rows, joined, read_sets
from redaction_sets.phrases import PARTS as PHRASES
from retrieving.sets import HERE, read_people

from discreet.redaction import Redactor
from discreet.testing import hostile_texts

GIVEN_UP = "<UNKNOWN>"
PARTS = ("catching", "phrases", "peers", "names", "speed", "hostile")
SEED = 20_240
"""Of the generated rows and the hunt; any other will do."""
DENSE = "multilingual"
"""Sets whose name begins so have values in every row, in many languages."""


def main() -> int:
    """Measure, print the figures, and return 1 if a target is missed."""
    options = parse()
    if options.hunt:
        return show_hunt(options)
    folder = None if options.repository else find_folder(options.sets)
    sets = read_sets(folder) if folder else Sets([])
    sets.rows.extend(generated_rows(seed=SEED, per_kind=8 if options.quick else 40))
    figures, notes, extra = measure(sets, options)
    print((as_json if options.json else as_text)(figures, notes, extra, options.before))
    return int(any(figure.met is False for figure in figures))


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=FORMAT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, sizes and generated rows")
    parser.add_argument(
        "--sets", type=Path, metavar="FOLDER", help="default: $DISCREET_EVAL_SETS, else a folder eval here or beside"
    )
    parser.add_argument("--repository", action="store_true", help="no sets but those that come with this program")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--before", type=earlier, default=NOTHING_EARLIER, metavar="FILE", help="what --json printed of an earlier run"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--misses", action="store_true", help="list what values were taken for: types, kinds, counts")
    parser.add_argument("--show-values", action="store_true", help="with the values that leaked, and text around them")
    parser.add_argument("--plot", type=Path, default=Path("build/redaction_growth.svg"), help="default: %(default)s")
    parser.add_argument("--hunt", type=float, metavar="SECONDS", help="only look for slow texts, for so long")
    parser.add_argument("--seed", type=int, default=SEED, help="of the hunt")
    return parser.parse_args()


def earlier(name: str) -> Earlier:
    """Return the figures of the file `name`."""
    try:
        return read_earlier(Path(name))
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{name}: {error}") from error


def measure(sets: Sets, options: argparse.Namespace) -> tuple[list[Figure], list[str], dict[str, Any]]:
    """Return the figures, notes about what could not be measured, and tables."""
    ours = Ours(Redactor())
    engine = ours.engine()
    others, notes = peers() if "peers" in options.only else ([], [])
    if not sets.turns:
        notes.append(
            "no labelled sets: only generated secrets and hostile texts; name a folder with --sets, see --help"
        )
    figures: list[Figure] = []
    extra: dict[str, Any] = {}
    if {"catching", "peers"} & set(options.only):
        figures += of_sets(engine, others, sets, options, extra)
    if {"phrases", "peers"} & set(options.only):
        figures += of_phrases(engine, others, options, extra)
    if ours.unaligned:
        notes.append(f"{ours.unaligned} outputs are not their input with placeholders; their values count as leaked")
    if "names" in options.only:
        figures += of_names(notes)
    if "speed" in options.only:
        figures += times([engine, *others], sets, quick=options.quick)
    if "hostile" in options.only:
        figures += of_hostile_texts(ours.redactor, options, notes, extra)
    return figures, notes, extra


def of_sets(
    engine: Engine, others: Sequence[Engine], sets: Sets, options: argparse.Namespace, extra: dict[str, Any]
) -> list[Figure]:
    """Return what becomes of the sets, and in `extra` the tables that are asked for."""
    figures: list[Figure] = []
    progress(f"{len(sets.rows)} rows and {len(sets.turns)} chat turns")
    result = catching.judge(engine, sets.rows)
    if "catching" in options.only:
        figures += [*catching.figures(result), *catching.precision(result, catching.chat(engine, sets.turns))]
    if options.misses:
        extra["Leaked, or taken for something else"] = catching.confusions(result)
    if options.show_values:
        extra["Values that leaked"] = catching.misses(result)
    return [*figures, *(side_by_side(sets, others, [(engine, result)]) if others else [])]


def of_hostile_texts(
    redactor: Redactor, options: argparse.Namespace, notes: list[str], extra: dict[str, Any]
) -> list[Figure]:
    """Return what hostile texts cost, in `extra` the tables and in `notes` what was given up; save the plot."""
    progress("hostile texts")
    sizes = speed.hostile_sizes(quick=options.quick)
    spent = speed.growth(redactor.findings, hostile_texts, quick=options.quick)
    extra["Seconds for hostile texts"] = speed.growth_table(spent, sizes)
    extra["Where the slowest of them spend it"] = speed.blamed(hostile_texts(sizes[-1]), spent)
    given_up = [kind for kind, text in hostile_texts(sizes[0]).items() if redactor.redact(text) == GIVEN_UP]
    notes.append(f"masked as a whole, since no search settled them: {', '.join(given_up) or 'none'}")
    plot.save(options.plot, spent, sizes)
    notes.append(f"plot: {options.plot}")
    return list(speed.hostile(spent, sizes))


def of_phrases(
    engine: Engine, others: Sequence[Engine], options: argparse.Namespace, extra: dict[str, Any]
) -> list[Figure]:
    """Return what becomes of the phrases, and in `extra` the tables that are asked for."""
    figures: list[Figure] = []
    rows = {part: phrasing.rows(part, SEED) for part in PHRASES}
    results: dict[str, catching.Result] = {}
    for part in PHRASES if "phrases" in options.only else ("held_out",):
        progress(f"{len(rows[part])} phrases, {part}")
        results[part] = catching.judge(engine, rows[part])
    if "phrases" in options.only:
        for part, result in results.items():
            figures += phrasing.figures(part, result)
            if options.misses:
                extra[f"Phrases, {part}: leaked, or taken for something else"] = catching.confusions(result)
            if options.show_values and (leaked := catching.misses(result)):
                extra[f"Phrases, {part}: values that leaked"] = leaked
        progress(f"{phrasing.STAMPS} time stamps")
        figures += phrasing.targets(results["held_out"], catching.judge(engine, phrasing.stamps(SEED)))
    if others:
        figures += phrasing.side_by_side(engine.name, results["held_out"])
        for other in others:
            progress(f"{other.name}, phrases")
            figures += phrasing.side_by_side(other.name, catching.judge(other, rows["held_out"]))
    return figures


def of_names(notes: list[str]) -> list[Figure]:
    """Return what those that claim names of people miss and mask without need; in `notes` who isn't there."""
    rows = naming.rows(SEED)
    claims, absent = naming.engines()
    notes += absent
    figures: list[Figure] = []
    for engine, languages in claims:
        progress(f"{engine.name}, names")
        result = catching.judge(engine, naming.of_languages(languages, rows))
        figures += naming.figures(engine.name, languages, result)
    return figures


def side_by_side(sets: Sets, others: Sequence[Engine], known: Sequence[tuple[Engine, catching.Result]]) -> list[Figure]:
    """Return what each engine leaks and masks on the same rows."""
    judged = list(known)
    for engine in others:
        progress(engine.name)
        judged.append((engine, catching.judge(engine, sets.rows)))
    group = "Side by side"
    figures = []
    for engine, result in judged:
        plain = {each.value.type for each in result.outcomes}
        figures += [
            share(group, what, of, engine=engine.name)
            for what, of in (
                (
                    "core leaked",
                    result.leak(
                        lambda each: each.value.type in CORE and not each.row.evasion and each.row.set != "secrets"
                    ),
                ),
                *(
                    (
                        f"{name} leaked",
                        result.leak(lambda each, name=name: each.value.type == name and not each.row.evasion),
                    )
                    for name in sorted(plain)
                ),
                ("disguised leaked", result.leak(lambda each: each.row.evasion is not None)),
                ("chat turns masked", catching.chat(engine, sets.turns)),
                ("hard negatives masked", result.overmasked(catching.is_hard)),
            )
            if of.total
        ]
    return figures


def times(engines: Sequence[Engine], sets: Sets, *, quick: bool) -> list[Figure]:
    """Return what messages and the import take."""
    count, rounds = (60, 3) if quick else (400, 7)
    dense: dict[str, list[str]] = {}
    for row in sets.rows:
        if row.set.startswith(DENSE):
            dense.setdefault(row.language, []).append(row.text)
    turns = sets.turns or [
        memory.text for person in read_people(HERE) if person.name.startswith("en_") for memory in person.memories
    ]
    rows = [(text, language) for language, texts in dense.items() for text in joined(texts, speed.CHARS)]
    figures: list[Figure] = []
    for what, texts in (("chat", [(text, "en") for text in joined(turns, speed.CHARS)]), ("dense rows", rows)):
        if texts:
            progress(f"time of {what}")
            figures += speed.messages(engines, what, texts[:: max(1, len(texts) // count)][:count], rounds=rounds)
    progress("import")
    return [*figures, speed.import_cost(runs=9 if quick else 21)]


def show_hunt(options: argparse.Namespace) -> int:
    """Print the slowest texts that can be found in the time given, and which recognisers take it."""
    fragments = [row.text for row in generated_rows(seed=SEED, per_kind=2)]
    for found in hunt(Redactor().redact, budget=options.hunt, seed=options.seed, fragments=fragments):
        searches, parts = speed.by_recogniser(found.generator.text())
        blame = ", ".join(f"{name} {seconds:.3f}" for name, seconds in list(parts.items())[:4])
        print(f"{found.seconds:7.3f} s  {found.generator.head[:40]!a} {found.generator.unit!a}")
        print(f"{'':11}{searches} searches: {blame}")
    return 0


def progress(what: str) -> None:
    """Say on standard error what is measured now."""
    print(f"… {what}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
