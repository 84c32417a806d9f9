"""How a run of a server finds what its request said before it was redacted."""

from __future__ import annotations

from typing import Final

REQUEST_REF: Final = "__discreet_request"
"""Key of `configurable`: the name under which the turn vault has a request, random and set by the server alone.

LangGraph keeps keys that begin so out of metadata and traces. Under that name the vault holds, each as JSON, what of the
request's body was redacted, by the names in `REQUEST_PARTS`, and the values by placeholder."""

REQUEST_PARTS: Final = ("input", "command", "context", "update", "goto")
"""Parts of a body that creates a run, as it spells them. `input` is what resumes a paused run in the event protocol,
where `update` and `goto` stand beside it."""


def part_key(part: str) -> str:
    """Return what the vault calls a part of a request."""
    return f"request:{part}"
