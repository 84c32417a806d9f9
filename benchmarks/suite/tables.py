"""The results as Markdown: what README has, the short list for docs, and everything for `results.md`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from suite.declared import CLAIMS, Claim
from suite.results import MORE_IS_BETTER, Comparison, Interval, Results, Run

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
TIMES = frozenset({"s", "ms", "us", "µs"})


def claimed(results: Results, claim: Claim) -> list[Comparison]:
    """Return the figures of a claim, one a peer; none if its benchmark has none."""
    run = results.runs.get(claim.benchmark)
    return [
        each for each in (run.figures if run else ()) if each.what == claim.what and re.match(claim.group, each.group)
    ]


def short_list(results: Results) -> str:
    """Return the table of the claims, with where it comes from."""
    lines = ["| | Discreet | beside it | |", "|---|---|---|---|"]
    for claim in CLAIMS:
        title = claim.title
        for each in claimed(results, claim):
            lines.append(f"| {title} | {value(each, each.ours)} | {_theirs(each)} | {verdict(each)} |")
            title = ""
    lines += ["", _source(results)]
    return "\n".join(lines)


def deciding_list(results: Results) -> str:
    """Return the table that README has: one line a claim, with all peers in it."""
    lines = ["| | Discreet | others | Discreet is |", "|---|---|---|---|"]
    for claim in (each for each in CLAIMS if each.decides):
        figures = claimed(results, claim)
        words = Counter(re.split("[:;]", verdict(each))[0] for each in figures)
        told = next(iter(words)) if len(words) == 1 else ", ".join(f"{word} ({times})" for word, times in words.items())
        others = " · ".join(map(_theirs, figures))
        lines.append(f"| {claim.title} | {value(figures[0], figures[0].ours)} | {others} | {told} |")
    lines += ["", _source(results, brackets=False)]
    return "\n".join(lines)


def everything(results: Results) -> str:
    """Return all figures of all benchmarks, and what failed."""
    return "\n".join(["# Benchmarks side by side", "", _source(results), *_runs(results)]) + "\n"


def write_between_marks(path: Path, table: str) -> None:
    """Put `table` between the two marks of a document; one without marks is left alone."""
    text = path.read_text(encoding="utf-8")
    if BEGIN in text:
        path.write_text(between_marks(text, table), encoding="utf-8")


def between_marks(text: str, table: str) -> str:
    """Return `text` with `table` between its marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


def verdict(figure: Comparison) -> str:
    """Say whether ours is better, and how many times; with intervals that meet, that there is no clear difference."""
    if figure.theirs is None or figure.ours == figure.theirs:
        return "" if figure.theirs is None else "the same"
    more = figure.ours > figure.theirs
    word = "better" if more is (figure.unit in MORE_IS_BETTER) else "worse"
    if _unsure(figure):
        word = "no clear difference"
    if not figure.ratio or figure.unit == "%":
        return word
    low, high = figure.interval or (figure.ratio, figure.ratio)
    times, *interval = (each if more else 1 / each for each in (figure.ratio, low, high))
    told = f"{number(times)} times {_as(figure.unit, more=more)}"
    if figure.interval is None:
        return f"{word}: {told}"
    return f"{word}: {told} [{number(min(interval))}–{number(max(interval))}; {figure.pairs} pairs]"


def value(figure: Comparison, seen: float) -> str:
    """Return a value with its unit."""
    return f"{number(seen)} {figure.unit}"


def number(seen: float) -> str:
    """Return three significant digits."""
    return f"{seen:,.0f}" if abs(seen) >= 1_000 else f"{seen:.3g}"  # from here on decimals are noise


def _unsure(figure: Comparison) -> bool:
    """Tell whether the interval of the ratio has 1 in it, or those of two shares have something in common."""
    if figure.interval is not None:
        return figure.interval[0] <= 1 <= figure.interval[1]
    if figure.ours_interval is None or figure.theirs_interval is None:
        return False
    return figure.ours_interval[0] <= figure.theirs_interval[1] and figure.theirs_interval[0] <= figure.ours_interval[1]


def _as(unit: str, *, more: bool) -> str:
    if unit in TIMES:
        return "as long" if more else "faster"
    return "as much" if more else "less"


def _theirs(figure: Comparison) -> str:
    return "" if figure.theirs is None else f"{figure.peer}: {value(figure, figure.theirs)}"


def _source(results: Results, *, brackets: bool = True) -> str:
    machines = dict.fromkeys(run.machine for run in results.runs.values() if run.machine)
    where = max(machines, key=len, default="no machine yet")
    told = f"`make bench` prints this; {where}."
    if not brackets:
        return told
    return f"{told} Brackets: 95 % intervals of the ratio, by bootstrap over pairs that were measured by turns."


def _runs(results: Results) -> Iterator[str]:
    for run in results.runs.values():
        yield from ("", f"## {run.name}", "", f"`{run.command}`, {run.seconds:.0f} s. {run.machine}".rstrip())
        if run.failure:
            yield from ("", f"Failed: {run.failure}.")
        for note in run.notes:
            yield from ("", f"Note: {note}")
        yield from _figures(run)


def _figures(run: Run) -> Iterator[str]:
    for group, members in groupby(run.figures, key=lambda each: each.group):
        yield from ("", f"**{group}**", "", "| | Discreet | beside it | |", "|---|---|---|---|")
        for each in members:
            ours = value(each, each.ours) + _interval(each.ours_interval)
            yield f"| {each.what} | {ours} | {_theirs(each)}{_interval(each.theirs_interval)} | {verdict(each)} |"


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f" [{number(interval[0])}–{number(interval[1])}]"


def summary(runs: Sequence[Run]) -> str:
    """Return a line a run: how long it took, and whether it has figures."""
    told = {True: ", a target of its own missed", False: ""}
    return "\n".join(
        f"  {run.name:18}{run.seconds:>7.0f} s  "
        + (f"FAILED: {run.failure}" if run.failure else f"{len(run.figures)} figures{told[run.missed]}")
        for run in runs
    )
