"""What an engine lets through and what it masks without need.

Judged by places alone: which characters of the text an engine hides. Whether a value's letters stand elsewhere too, in the
text or in the output, makes no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from redacting.engines import Engine
from redacting.report import Figure, share
from redacting.rows import CORE, Row, Value
from redacting.statistics import Share, iban_is_valid, shares

CAUGHT = 0.8
"""Share of a value's letters and digits that have to be hidden where they stand."""
MAIN_LANGUAGES = ("en", "vi", "ru", "zh")
STRICT = ("EMAIL", "CARD", "valid IBAN", "vendor token")
CONTEXT = 40
HELD_OUT = "held_out"
"""Sets whose name ends so are counted, and their texts never shown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one value."""

    row: Row
    value: Value
    leaked: bool
    masked_as: str
    """The type that hides most of it, or `-`."""


@dataclass(frozen=True)
class Result:
    """What became of everything."""

    outcomes: list[Outcome]
    masked: list[tuple[Row, bool]]
    """Rows without values, and whether something of them is hidden."""

    def leak(self, wanted: Callable[[Outcome], bool]) -> Share:
        """Return the share of the wanted values that leaked."""
        chosen = [outcome.leaked for outcome in self.outcomes if wanted(outcome)]
        return Share(sum(chosen), len(chosen))

    def overmasked(self, wanted: Callable[[Row], bool]) -> Share:
        """Return the share of the wanted rows without values that were masked."""
        chosen = [masked for row, masked in self.masked if wanted(row)]
        return Share(sum(chosen), len(chosen))


def judge(engine: Engine, rows: Sequence[Row]) -> Result:
    """Return what `engine` does with all `rows`."""
    outcomes: list[Outcome] = []
    masked: list[tuple[Row, bool]] = []
    for row in rows:
        types: list[str | None] = [None] * len(row.text)
        found = engine.find(row.text, row.language)
        for finding in found:
            types[finding.start : finding.end] = [finding.type] * (finding.end - finding.start)
        outcomes += [_outcome(row, value, types) for value in row.values]
        if row.negative:
            masked.append((row, bool(found)))
    return Result(outcomes, masked)


def _outcome(row: Row, value: Value, types: Sequence[str | None]) -> Outcome:
    places = [place for place in range(value.start, value.end) if row.text[place].isalnum()]
    gone = Counter(name for place in places if (name := types[place]))
    leaked = gone.total() < CAUGHT * len(places)
    return Outcome(row, value, leaked, gone.most_common(1)[0][0] if gone else "-")


def figures(result: Result) -> Iterator[Figure]:
    """Yield leak rates by everything that may matter, and the targets about them."""
    plain = [each for each in result.outcomes if each.row.evasion is None]
    group = "Leaked, core types (disguises and generated secrets apart)"
    core = result.leak(lambda each: each.value.type in CORE and each.row.evasion is None and each.row.set != "secrets")
    yield share(group, "all sets", core, at_most=3)
    for name, of in shares(
        plain, lambda each: each.row.set if each.value.type in CORE else None, bad=has_leaked
    ).items():
        yield share(group, name, of)

    group = "Leaked, by type"
    limits = {"PHONE": 3.0, "NATID": 6.0, "ADDRESS": 35.0, "SECRET": 15.0}
    for name, of in shares(plain, lambda each: each.value.type, bad=has_leaked).items():
        yield share(group, name, of, at_most=limits.get(name))

    group = "Leaked, by type and language"
    for (name, language), of in shares(
        plain, lambda each: (strict_type(each) or each.value.type, each.row.language), bad=has_leaked
    ).items():
        strict = name in STRICT and language in MAIN_LANGUAGES
        yield share(group, f"{name} {language}", of, at_most=1.0 if strict else None)

    group = "Leaked, by set and type"
    for (name, kind), of in shares(plain, lambda each: (each.row.set, each.value.type), bad=has_leaked).items():
        yield share(group, f"{name} {kind}", of)

    group = "Leaked, disguised"
    yield share(group, "all disguises", result.leak(lambda each: each.row.evasion is not None), at_most=12)
    for name, of in shares(result.outcomes, lambda each: each.row.evasion, bad=has_leaked).items():
        yield share(group, name, of)


def strict_type(outcome: Outcome) -> str | None:
    """Return what the strict target calls the value; None for types without one."""
    value = outcome.value
    if value.type in ("EMAIL", "CARD"):
        return value.type
    if value.type == "IBAN":
        return "valid IBAN" if iban_is_valid(outcome.row.text[value.start : value.end]) else "invalid IBAN"
    return "vendor token" if value.type == "SECRET" and is_vendor_token(value.kind) else None


def is_vendor_token(kind: str) -> bool:
    """Tell whether a generated secret is one whose prefix names its vendor."""
    return kind.lower().startswith("vendor")


def precision(result: Result, turns: Share) -> Iterator[Figure]:
    """Yield how much is masked of what should stay."""
    group = "Masked without need"
    ordinary = result.overmasked(lambda row: not is_hard(row) and row.set != "near_misses")
    yield share(group, "rows without values", ordinary)
    yield share(group, "chat turns", turns, at_most=0)
    yield share(group, "ordinary messages: both together", ordinary + turns, at_most=0.5)
    yield share(group, "made to look like secrets", result.overmasked(lambda row: row.set == "near_misses"))
    hard = [(row, masked) for row, masked in result.masked if is_hard(row)]
    yield share(group, "hard negatives", result.overmasked(is_hard), at_most=4)
    for language, of in shares(hard, lambda pair: pair[0].language, bad=lambda pair: pair[1]).items():
        yield share(group, f"hard negatives {language}", of)


def is_hard(row: Row) -> bool:
    """Tell whether a row was made to be mistaken."""
    return "hard_negatives" in row.set


def chat(engine: Engine, turns: Sequence[str]) -> Share:
    """Return how many of the chat turns are masked."""
    return Share(sum(bool(engine.find(turn, "en")) for turn in turns), len(turns))


def confusions(result: Result) -> list[dict[str, Any]]:
    """Return what values were taken for, the most frequent first: types, kinds and counts, never values."""
    counted = Counter(
        (
            outcome.row.set,
            outcome.value.type,
            outcome.value.kind,
            outcome.row.evasion or "",
            outcome.row.language,
            "leaked" if outcome.leaked else "caught",
            outcome.masked_as,
        )
        for outcome in result.outcomes
        if outcome.leaked or not _same_type(outcome)
    )
    names = ("set", "type", "kind", "disguise", "language", "result", "masked as")
    return [{"count": count, **dict(zip(names, key, strict=True))} for key, count in counted.most_common()]


def misses(result: Result) -> list[dict[str, Any]]:
    """Return the values that leaked, with what stands around them; none of a held-out set."""
    return [
        {
            "type": outcome.value.type,
            "language": outcome.row.language,
            "before": outcome.row.text[max(0, outcome.value.start - CONTEXT) : outcome.value.start].__repr__(),
            "value": outcome.row.text[outcome.value.start : outcome.value.end].__repr__(),
        }
        for outcome in result.outcomes
        if outcome.leaked and not outcome.row.set.endswith(HELD_OUT)
    ]


def _same_type(outcome: Outcome) -> bool:
    return outcome.masked_as in (outcome.value.type, {"NATID": "NATIONAL_ID"}.get(outcome.value.type))


def has_leaked(outcome: Outcome) -> bool:
    """Tell whether a value leaked."""
    return outcome.leaked
