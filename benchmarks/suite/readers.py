"""From what each benchmark prints with `--json` to comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from suite.results import Comparison

Reader = Callable[[Mapping[str, Any], str], list[Comparison]]
"""The JSON of a benchmark, and the name of what it calls stock -> its comparisons."""

NAMES = "Names of people"


def sides(data: Mapping[str, Any], stock: str) -> list[Comparison]:
    """Read what `comparing.report` prints: ours and another one in each line."""
    return [
        Comparison(
            group=each["group"],
            what=each["what"].removesuffix(f": {each['peer']}"),
            unit=each["unit"],
            ours=each["ours"],
            peer=stock if each["peer"] == "stock" else each["peer"],
            theirs=each["stock"],
            pairs=each["pairs"],
            interval=_interval(each["interval"]),
        )
        for each in data["figures"]
    ]


def engines(data: Mapping[str, Any], _stock: str) -> list[Comparison]:
    """Read what `redacting.report` prints: a line for each engine, ours first; those that stand alone are left out."""
    by_what: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in data["figures"]:
        group = NAMES if each["group"].startswith(NAMES) else each["group"]
        by_what.setdefault((group, each["what"]), []).append(each)
    return [
        Comparison(
            *(group, what, first["unit"], first["value"], each["engine"], each["value"], each["pairs"]),
            interval=_interval(each["ratio_interval"]),
            ours_interval=_interval(first["interval"]),
            theirs_interval=_interval(each["interval"]),
        )
        for (group, what), (first, *others) in by_what.items()
        for each in others
    ]


def extraction(data: Mapping[str, Any], _stock: str) -> list[Comparison]:
    """Read what `extraction.py` prints, of the held-out turns."""
    return [
        Comparison(f"held-out turns, {language}", what, "right", score[what])
        for language, score in data["parts"]["held_out"].items()
        for what in ("precision", "recall")
    ]


def _interval(value: Any) -> tuple[float, float] | None:
    return None if value is None else (value[0], value[1])
