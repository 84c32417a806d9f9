"""Shares with their confidence intervals, and sums over a remainder for IBANs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

Z = 1.959964
"""Two-sided 95 % of the normal distribution."""

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `total` cases are `bad` ones."""

    bad: int = 0
    total: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.bad + other.bad, self.total + other.total)

    @property
    def rate(self) -> float:
        """The share in percent."""
        return 100 * self.bad / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval in percent (Wilson, JASA 22, 1927)."""
        if not self.total:
            return 0.0, 100.0
        share, spread = self.bad / self.total, Z * Z / self.total
        middle = (share + spread / 2) / (1 + spread)
        half = Z / (1 + spread) * sqrt(share * (1 - share) / self.total + spread / self.total / 4)
        return max(0.0, 100 * (middle - half)), min(100.0, 100 * (middle + half))


def shares(
    items: Iterable[Item], key: Callable[[Item], Key | None], *, bad: Callable[[Item], bool]
) -> dict[Key, Share]:
    """Return the share of bad items for each key, keys in order; None leaves an item out."""
    counted: defaultdict[Key, Share] = defaultdict(Share)
    for item in items:
        if (name := key(item)) is not None:
            counted[name] += Share(int(bad(item)), 1)
    return dict(sorted(counted.items(), key=lambda pair: str(pair[0])))


def iban_is_valid(value: str) -> bool:
    """Tell whether the check digits of an IBAN are right (ISO 13616, ISO 7064 MOD 97-10)."""
    plain = "".join(char for char in value if char.isalnum())
    if not plain.isascii():
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1
