"""The results as Markdown: the short list for README and docs, and everything for `results.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from suite.declared import CLAIMS, Claim
from suite.results import MORE_IS_BETTER, Comparison, Interval, Results, Run

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
SAME = 0.005
"""Ratios that differ less from 1 read as no difference."""


def claimed(results: Results, claim: Claim) -> list[Comparison]:
    """Return the figures of a claim, one a peer; none if its benchmark has none."""
    run = results.runs.get(claim.benchmark)
    return [
        each
        for each in (run.figures if run else ())
        if each.what == claim.what and each.group.startswith(claim.group) and (each.peer or "").startswith(claim.peer)
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
    """Say how many times better or worse ours is, with the interval; of shares, the intervals of both tell."""
    if figure.ratio is None:
        return "" if figure.peer is None or figure.ours == figure.theirs else "worse"
    if figure.unit == "%" or figure.unit.startswith("of "):
        return _who(figure.ratio, figure)
    unsure = figure.interval is not None and figure.interval[0] <= 1 <= figure.interval[1]
    word = "no clear difference" if unsure else _who(figure.ratio, figure)
    if not figure.ratio:
        return word
    times = f"{number(max(figure.ratio, 1 / figure.ratio))} times {_direction(figure.ratio, figure.unit)}"
    if figure.interval is None:
        return f"{word}: {times}"
    low, high = figure.interval
    return f"{word}: ×{number(figure.ratio)} [{number(low)}–{number(high)}], {figure.pairs} pairs"


def value(figure: Comparison, seen: float) -> str:
    """Return a value with its unit."""
    return f"{number(seen)} {figure.unit}"


def number(seen: float) -> str:
    """Return three significant digits."""
    return f"{seen:,.0f}" if abs(seen) >= 1_000 else f"{seen:.3g}"  # noqa: PLR2004 - from here on decimals are noise


def _who(ratio: float, figure: Comparison) -> str:
    if abs(ratio - 1) < SAME:
        return "the same"
    return "better" if (ratio > 1) is (figure.unit in MORE_IS_BETTER) else "worse"


def _direction(ratio: float, unit: str) -> str:
    if unit in {"ms", "us", "µs", "s"}:
        return "as long" if ratio > 1 else "as fast"
    return "as much" if ratio > 1 else "less"


def _theirs(figure: Comparison) -> str:
    return "" if figure.theirs is None else f"{figure.peer}: {value(figure, figure.theirs)}"


def _source(results: Results) -> str:
    machines = dict.fromkeys(run.machine for run in results.runs.values() if run.machine)
    where = max(machines, key=len, default="no machine yet")
    return f"`make bench` prints this; {where}. Brackets: 95 % intervals of the ratio, by bootstrap over pairs that were measured by turns."


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
