"""How long redaction takes: ordinary texts, hostile ones, and the import."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median, quantiles

import numpy as np
from comparing.intervals import ratio_interval
from redacting.engines import OURS, Engine
from redacting.report import Figure

from discreet.redaction import Redactor
from discreet.redaction.normalized_text import Span, View
from discreet.redaction.recognisers import DEFAULT, Recogniser

CHARS = 300
"""Length of a longer chat message; what the targets are about."""
HOSTILE_SIZES = (6_250, 12_500, 25_000, 50_000, 100_000)
BLAMED = 10
IMPORT = "import discreet.redaction"

Text = tuple[str, str]
"""A text and its language."""
Growth = dict[str, list[float]]
"""Kind of hostile text -> seconds, for each size."""


def messages(engines: Sequence[Engine], what: str, texts: Sequence[Text], *, rounds: int) -> Iterator[Figure]:
    """Yield what one of `texts` takes, in the median and for the slowest twentieth. The engines take turns."""
    spent: dict[str, list[list[float]]] = {engine.name: [[] for _ in texts] for engine in engines}
    for engine in engines:
        for text, language in texts:
            engine.run(text, language)  # fills caches
    for _ in range(rounds):
        for engine in engines:
            for times, (text, language) in zip(spent[engine.name], texts, strict=True):
                times.append(seconds(lambda run=engine.run, text=text, language=language: run(text, language)))
    medians = {name: [median(one) * 1e6 for one in times] for name, times in spent.items()}
    for name, each in medians.items():
        target = 500.0 if name == OURS and what == "chat" else None
        yield Figure(
            *("Time for 300 characters", f"{what}, median", median(each), "µs", name, target),
            pairs=len(each),
            ratio_interval=None if name == OURS else ratio_interval(each, medians[OURS]),
        )
        yield Figure("Time for 300 characters", f"{what}, 95 %", quantiles(each, n=20)[-1], "µs", name)


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of `work`: that of one thread which waits for nothing, so other processes don't count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def growth(run: Callable[[str], object], texts: Callable[[int], Mapping[str, str]], *, quick: bool) -> Growth:
    """Return how long each kind of hostile text takes, the best of several runs, at each size."""
    sizes = hostile_sizes(quick=quick)
    spent: Growth = {}
    for size in sizes:
        for kind, text in texts(size).items():
            runs = 1 if quick else 3
            spent.setdefault(kind, []).append(min(seconds(lambda text=text: run(text)) for _ in range(runs)))
    return spent


def hostile_sizes(*, quick: bool) -> Sequence[int]:
    """Return the sizes that are measured."""
    return HOSTILE_SIZES[::2] if quick else HOSTILE_SIZES


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Return the slope of log(time) over log(size): 1 is linear, 2 quadratic."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def hostile(spent: Growth, sizes: Sequence[int]) -> Iterator[Figure]:
    """Yield the slowest of the largest texts, and the steepest growth."""
    group = f"Hostile texts of {sizes[-1]:,} characters, {len(spent)} kinds"
    slowest = sorted(spent, key=lambda kind: -spent[kind][-1])
    for kind in slowest[:1]:
        yield Figure(group, f"the slowest: {kind}", spent[kind][-1], "s", at_most=1.0)
    for kind in slowest[1:8]:
        yield Figure(group, f"next: {kind}", spent[kind][-1], "s")
    yield Figure(group, "median", median(times[-1] for times in spent.values()), "s")
    steepest = max(spent, key=lambda kind: exponent(sizes, spent[kind]))
    yield Figure(group, f"steepest growth: {steepest}", exponent(sizes, spent[steepest]), "")


def growth_table(spent: Growth, sizes: Sequence[int]) -> list[dict[str, object]]:
    """Return a row a kind, the slowest first: seconds for each size, and the exponent."""
    return [
        {
            "kind": kind,
            **{f"{size:,}": times[position] for position, size in enumerate(sizes)},
            "exponent": exponent(sizes, times),
        }
        for kind, times in sorted(spent.items(), key=lambda pair: -pair[1][-1])
    ]


class Timed:
    """A recogniser that counts the seconds spent in it, and how often it was asked."""

    def __init__(self, recogniser: Recogniser) -> None:
        self.type = recogniser.type
        self.name = type(recogniser).__name__
        self.spent = 0.0
        self.asked = 0
        self._recogniser = recogniser

    def spans(self, view: View) -> Sequence[Span]:
        """Return what the recogniser finds."""
        start = time.process_time()
        found = list(self._recogniser.spans(view))
        self.spent += time.process_time() - start
        self.asked += 1
        return found


def by_recogniser(text: str) -> tuple[int, dict[str, float]]:
    """Return how often `text` is searched until it is redacted, and the seconds in each recogniser, the slowest first.

    What is not spent in any of them is the engine's: normalising, decoding, uniting findings.
    """
    timed = [Timed(recogniser) for recogniser in DEFAULT]
    redactor = Redactor(recognisers=timed)
    whole = seconds(lambda: redactor.redact(text))
    spent = {each.name: each.spent for each in timed}
    spent["engine"] = whole - sum(spent.values())
    return max(each.asked for each in timed), dict(sorted(spent.items(), key=lambda pair: -pair[1]))


def blamed(texts: Mapping[str, str], spent: Growth) -> list[dict[str, object]]:
    """Return how often the slowest texts are searched, and the seconds in the three slowest recognisers."""
    rows: list[dict[str, object]] = []
    for kind in sorted(spent, key=lambda kind: -spent[kind][-1])[:BLAMED]:
        searches, parts = by_recogniser(texts[kind])
        three = ", ".join(f"{name} {value:.2f}" for name, value in list(parts.items())[:3])
        rows.append({"kind": kind, "searches": searches, "seconds in": three})
    return rows


def import_cost(*, runs: int) -> Figure:
    """Return the CPU time that importing the redactor adds to the start of Python; processes of both kinds take turns."""
    bare, ours = [], []
    for _ in range(runs):
        bare.append(_python("pass"))
        ours.append(_python(IMPORT))
    return Figure("Import", IMPORT, median(ours) - median(bare), "s", at_most=0.15)


def _python(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
