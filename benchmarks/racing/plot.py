"""The figures as a picture: how many times better ours is, and the targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from comparing.report import Figure


def draw(figures: Sequence[Figure], path: Path) -> None:
    """Draw a bar for each ratio that has a target, on a logarithmic scale. The ending of `path` decides the format."""
    import matplotlib as mpl  # in the group `bench`, and needed for a picture only

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # after the choice of a backend

    shown = [figure for figure in figures if figure.target is not None and figure.value == figure.ours / figure.stock]
    better = [figure.value if figure.at_least else 1 / figure.value for figure in shown]
    targets = [figure.at_least or 1 / (figure.at_most or 1) for figure in shown]
    chart, axes = plt.subplots(figsize=(10, 0.4 * len(shown) + 1.5), layout="constrained")
    axes.barh(range(len(shown)), better, color=["tab:green" if figure.met else "tab:red" for figure in shown])
    axes.scatter(targets, range(len(shown)), marker="|", s=300, color="black", label="target", zorder=2)
    axes.set_yticks(
        range(len(shown)), [f"{figure.what} ({figure.group.split(': ')[1]})" for figure in shown], fontsize=7
    )
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("times better than the peer")
    axes.legend()
    chart.savefig(path, dpi=150)
    plt.close(chart)
