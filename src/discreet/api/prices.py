"""What extraction costs, estimated by list prices of a day."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Final

MILLION: Final = 1_000_000

FACTORS: Final = {"openai": 0.5, "anthropic": 0.5, "google": 0.5, "immediate": 1.0}
"""Part of the list price, by who extracts: the three ask half of it for batches."""

_VERSION = re.compile(r"(?:[-@](?:latest|preview|\d+))*")
"""What may follow the name of a model: a date, a number. Anything else names another model, of another price."""


@dataclass(frozen=True, kw_only=True)
class PriceList:
    """Prices by what names of models begin with."""

    as_of: date
    """The day they were read."""
    prices: dict[str, tuple[float, float]]
    """USD per million tokens, of input and of output."""


@cache
def price_list() -> PriceList:
    """Return the list that comes with this package."""
    read = tomllib.loads(files(__package__).joinpath("prices.toml").read_text(encoding="utf-8"))
    as_of = read.pop("as_of")
    prices = {model: (price["input"], price["output"]) for models in read.values() for model, price in models.items()}
    return PriceList(as_of=as_of, prices=prices)


def cost(model: str, input_tokens: int, output_tokens: int, provider: str) -> float | None:
    """Return what tokens cost in USD; None where the price of `model` is not known. `offline` costs nothing.

    Of the known names that `model` begins with the longest counts.

    Example:
        >>> cost("gpt-4o-mini-2024-07-18", 1_000_000, 100_000, "openai")
        0.105
        >>> cost("openai:gpt-4o-mini", 1_000_000, 100_000, "immediate")
        0.21
        >>> cost("gpt-4o-mini-audio", 1_000_000, 100_000, "openai") is None
        True
    """
    if provider == "offline" or model == "offline":
        return 0.0
    factor = FACTORS.get(provider)
    name = model.rpartition("/")[2].rpartition(":")[2]  # openai:gpt-4o-mini, models/gemini-2.5-flash
    prices = price_list().prices
    known = max((each for each in prices if name.startswith(each)), key=len, default="")
    if factor is None or not known or _VERSION.fullmatch(name, len(known)) is None:
        return None
    asked, answered = prices[known]
    return round(factor * (input_tokens * asked + output_tokens * answered) / MILLION, 6)
