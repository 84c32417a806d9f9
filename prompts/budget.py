"""How many tokens each part of a prompt may take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from discreet.errors import ConfigurationError

Part = Literal["system", "summary", "facts", "past", "rounds", "input"]
"""What a prompt consists of; `facts` and `past`, the past conversations, share the reserve."""


@dataclass(frozen=True, kw_only=True)
class TokenBudget:
    """Tokens of each part, 2,000 in all. What a prompt takes is at most their sum, or `window`, wherever that can be.

    Raises:
        ConfigurationError: A part or the window is no whole number from 0 on.

    Example:
        >>> TokenBudget(rounds=4_000).total
        4800
    """

    system: int = 300
    """The instructions, the tags of the blocks and the words about them. Never cut."""
    summary: int = 200
    """The summary of the running conversation."""
    rounds: int = 1_200
    """Earlier rounds, word for word: six of about 200 tokens."""
    input: int = 100
    """The running turn with its tool traffic. Never cut."""
    reserve: int = 200
    """Facts, and what is left of it: past conversations."""
    window: int | None = None
    """Tokens of all parts together at most; None: their sum. A smaller window is first felt where an overlong input is."""

    def __post_init__(self) -> None:
        for part, tokens in asdict(self).items():
            if part == "window" and tokens is None:
                continue
            if type(tokens) is not int or tokens < 0:
                raise ConfigurationError(f"TokenBudget({part}=…) takes a whole number of tokens from 0 on.")

    @property
    def total(self) -> int:
        """The tokens of all parts."""
        parts = self.system + self.summary + self.rounds + self.input + self.reserve
        return parts if self.window is None else min(parts, self.window)
