"""How sure a ratio is: bootstrap over paired repetitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_PAIRS = 5
"""Of fewer, what is drawn says little about what was not (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993)."""
ROUNDS = 2_000

Floats = NDArray[np.float64]
Statistic = Callable[..., Floats]
"""numpy's `median` or `mean`."""


def ratio_interval(
    others: Sequence[float], ours: Sequence[float], statistic: Statistic = np.median
) -> tuple[float, float] | None:
    """Return the 95 % interval of statistic(ours) / statistic(others), None if too few pairs could tell it.

    The values are pairs: what was measured at the same time, or about the same question. Pairs are drawn together, so what
    changed for both sides, as a busy machine does, is in both.
    """
    if len(others) != len(ours) or len(ours) < LEAST_PAIRS:
        return None
    pairs = np.array([others, ours], dtype=float)
    drawn = pairs[:, np.random.default_rng(0).integers(len(ours), size=(ROUNDS, len(ours)))]
    below, above = statistic(drawn, axis=2)
    if not below.all():
        return None
    low, high = np.percentile(above / below, [2.5, 97.5])
    return float(low), float(high)
