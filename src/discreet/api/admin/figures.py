"""Write scores so that they compare as they did."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal


def decimal(number: float) -> str:
    """Return `number` with three places, rounded down: what is below a threshold of fewer places looks so.

    Example:
        >>> decimal(0.5999), decimal(0.6), decimal(0.57)
        ('0.599', '0.600', '0.570')
    """
    return str(Decimal(repr(number)).quantize(Decimal("0.001"), ROUND_FLOOR))
