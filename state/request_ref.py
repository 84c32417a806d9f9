"""How a run of a server finds what its request said before it was redacted."""

from __future__ import annotations

from typing import Final

REQUEST_REF: Final = "__discreet_request"
"""Key of `configurable`: the name under which the turn vault has a request, random and set by the server alone.

LangGraph keeps keys that begin so out of metadata and traces. Under that name the vault holds, each as JSON, what of the
request's body was redacted, by `part_key` of the names in `REQUEST_PARTS`. The values by placeholder, which the answer to
this request may show its owner, are apart, under `values_ref`: an answer then needs no media of the request."""

REQUEST_MESSAGE: Final = "__discreet_message"
"""Key of `configurable`: the id under which the message of a run came first, set by the server alone where it comes again."""

REQUEST_DELIVERY: Final = "__discreet_delivery"
"""Key of `configurable`: the name that all deliveries of the message of a run without a thread share, set by the server alone."""

REQUEST_PARTS: Final = ("input", "command", "context", "update", "goto")
"""Parts of a body that creates a run, as it spells them. `input` is what resumes a paused run in the event protocol,
where `update` and `goto` stand beside it."""


def part_key(part: str) -> str:
    """Return what the vault calls a part of a request."""
    return f"request:{part}"


def values_ref(ref: str) -> str:
    """Return the name under which the vault has the values that the answer to a request may show."""
    return f"{ref}:values"
