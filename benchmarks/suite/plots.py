"""The short list as a picture."""

from __future__ import annotations

from pathlib import Path

from suite.declared import CLAIMS
from suite.results import MORE_IS_BETTER, Results
from suite.tables import claimed

BETTER, WORSE, UNSURE = "tab:green", "tab:red", "tab:gray"


def draw(results: Results, path: Path) -> None:
    """Draw how many times better or worse ours is than each peer, with intervals. The ending of `path` decides the format."""
    import matplotlib as mpl  # in the environment of the peers, and needed for a picture only

    mpl.use("Agg")
    mpl.rcParams["svg.fonttype"] = "none"  # letters as letters: a fifth of the size
    mpl.rcParams["svg.hashsalt"] = "discreet"  # the same picture for the same figures
    from matplotlib import pyplot as plt  # after the choice of a backend

    rows = []
    for claim in CLAIMS:
        for each in claimed(results, claim):
            if not each.ratio or each.theirs is None:
                continue
            more = each.unit in MORE_IS_BETTER
            times = each.ratio if more else 1 / each.ratio
            interval = each.interval and (each.interval if more else (1 / each.interval[1], 1 / each.interval[0]))
            rows.append((f"{claim.title}: {each.peer}", times, interval))
    if not rows:
        return
    chart, axes = plt.subplots(figsize=(11, 0.32 * len(rows) + 1.2), layout="constrained")
    for place, (_, times, interval) in enumerate(rows):
        unsure = interval is not None and interval[0] <= 1 <= interval[1]
        colour = UNSURE if unsure else BETTER if times > 1 else WORSE
        axes.barh(place, times - 1, left=1, color=colour)
        if interval is not None:
            axes.plot(interval, (place, place), color="black", linewidth=1.5)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("times better than the peer (left of 1: worse; gray: no clear difference)")
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.savefig(path, metadata={"Date": None})
    plt.close(chart)
