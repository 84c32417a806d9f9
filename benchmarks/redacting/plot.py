"""The growth of hostile texts as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redacting.speed import Growth, exponent

NAMED = 8
"""Kinds that are drawn in colour, the slowest; the rest is grey."""


def save(path: Path, spent: Growth, sizes: Sequence[int]) -> None:
    """Write seconds over size, both logarithmic, as the kind of file that the name of `path` says."""
    from matplotlib.figure import Figure  # loaded when a plot is wanted

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots()
    slowest = sorted(spent, key=lambda kind: -spent[kind][-1])
    for kind in slowest[NAMED:]:
        axes.plot(sizes, spent[kind], color="0.85", linewidth=0.7)
    for kind in slowest[:NAMED]:
        axes.plot(sizes, spent[kind], marker="o", label=f"{kind}: n^{exponent(sizes, spent[kind]):.2f}")
    middle = spent[slowest[len(slowest) // 2]][0] / sizes[0]
    axes.plot(sizes, [middle * size for size in sizes], "k--", linewidth=1, label="linear")
    axes.axhline(1, color="red", linewidth=0.7, label="target at 100,000")
    axes.set(xscale="log", yscale="log", xlabel="characters", ylabel="seconds", title="Redacting hostile texts")
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
