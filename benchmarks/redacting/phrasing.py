"""What becomes of rows that people wrote who don't read the redactor, and of time stamps.

The held-out rows are for counting alone: nothing here, nor in `catching`, returns a text of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from redacting.catching import MAIN_LANGUAGES, Outcome, Result, has_leaked
from redacting.report import Figure, share
from redacting.rows import Row, read_row
from redacting.statistics import shares
from redaction_sets import phrases, timestamps

STAMPS = 10_000
TOLD = frozenset({"password told", "password label", "code told", "account told"})
"""Kinds of the areas `told_…`."""
TARGETS = "Held-out phrases"

Wanted = Callable[[Outcome], bool]


def rows(part: str, seed: int) -> list[Row]:
    """Return the rows of a part; the set of each is its area and the part."""
    return [read_row(f"{data['src']}_{part}", data) for data in phrases.rows(part, seed)]


def stamps(seed: int) -> list[Row]:
    """Return texts with time stamps, the set of each its form."""
    return [read_row(data["kind"], data) for data in timestamps.rows(STAMPS, seed)]


def family(row: Row) -> str:
    """Return the first word of a row's area: `told`, `addresses`, `evasion`, `pasted`, `ordinary`."""
    return row.set.partition("_")[0]


def figures(part: str, result: Result) -> Iterator[Figure]:
    """Yield what leaks of a part by kind and by language, and how many ordinary rows are masked."""
    name = part.replace("_", "-")
    for group, key in (
        (f"Phrases, {name}: leaked, by kind", lambda each: f"{family(each.row)}: {each.value.kind}"),
        (f"Phrases, {name}: leaked, by language", lambda each: f"{family(each.row)}: {each.row.language}"),
    ):
        for what, of in shares(result.outcomes, key, bad=has_leaked).items():
            yield share(group, what, of)
    group = f"Phrases, {name}: ordinary rows masked"
    yield share(group, "all", result.overmasked(lambda _: True))
    for key in (family, _language):
        for what, of in shares(result.masked, lambda pair, key=key: key(pair[0]), bad=lambda pair: pair[1]).items():
            yield share(group, what, of)


def targets(result: Result, stamped: Result) -> Iterator[Figure]:
    """Yield the figures with targets: of the held-out rows, and of time stamps."""
    for what, wanted, at_most in WANTED:
        yield share(TARGETS, what, result.leak(wanted), at_most=at_most)
    yield share(TARGETS, "ordinary rows masked", result.overmasked(lambda _: True), at_most=1)
    group = "Time stamps masked"
    yield share(group, "all forms", stamped.overmasked(lambda _: True), at_most=0)
    for form, of in shares(stamped.masked, lambda pair: pair[0].set, bad=lambda pair: pair[1]).items():
        if of.bad:
            yield share(group, form, of)


def side_by_side(engine: str, result: Result) -> Iterator[Figure]:
    """Yield what an engine leaks and masks of the held-out rows."""
    group = "Side by side, held-out phrases"
    kinds = {each.value.kind for each in result.outcomes if family(each.row) == "pasted"}
    for what, wanted in (
        *((what, wanted) for what, wanted, _ in WANTED),
        *(
            (f"pasted: {kind}", lambda each, kind=kind: family(each.row) == "pasted" and each.value.kind == kind)
            for kind in sorted(kinds)
        ),
    ):
        yield share(group, what, result.leak(wanted), engine=engine)
    yield share(group, "ordinary rows masked", result.overmasked(lambda _: True), engine=engine)


def _told(outcome: Outcome, *, main: bool) -> bool:
    told = family(outcome.row) == "told" and outcome.value.kind in TOLD
    return told and (outcome.row.language in MAIN_LANGUAGES) is main


def _of(name: str) -> Wanted:
    return lambda outcome: family(outcome.row) == name


def _language(row: Row) -> str:
    return row.language


WANTED: tuple[tuple[str, Wanted, float], ...] = (
    (f"told secrets, {' '.join(MAIN_LANGUAGES)}: leaked", lambda each: _told(each, main=True), 3),
    ("told secrets, other languages: leaked", lambda each: _told(each, main=False), 15),
    ("addresses: leaked", _of("addresses"), 15),
    ("disguised: leaked", _of("evasion"), 10),
)
"""What is aimed at on the held-out rows: name, values, percent at most."""
