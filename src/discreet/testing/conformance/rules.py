"""How a check says that a rule is broken."""

from __future__ import annotations

import secrets


class ConformanceError(AssertionError):
    """An adapter breaks a rule of its port."""


def expect(holds: bool, rule: str) -> None:
    """Go on if `rule` holds; unlike an assertion under `python -O` too.

    Raises:
        ConformanceError: It does not.
    """
    if not holds:
        raise ConformanceError(rule)


def someone() -> str:
    """Return the user_id of somebody of whom nothing is stored anywhere."""
    return f"conformance-{secrets.token_hex(8)}"
