"""What the nodes of a compiled graph mask messages with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from langgraph.pregel import Pregel

from discreet.nodes.masking import TurnMask
from discreet.ports import TextRedactor, TurnVault
from discreet.redaction.configured import default_redactor
from discreet.redaction.vault import default_vault


def mask_of(
    graph: Any,
    *,
    vault: TurnVault | None = None,
    redactor: TextRedactor | None = None,
    otherwise: Callable[[], TurnVault] = default_vault,
) -> TurnMask:
    """Return `vault` and `redactor`; in the place of those that are not given, what the graph's `save_input` or middleware has.

    Where there is none of either, as in a graph of somebody else's, the redactor is the process's, and the vault `otherwise`.
    """
    found = next(_masks(graph), None)
    return TurnMask(
        redactor=redactor or (found.redactor if found else default_redactor()),
        vault=vault or (found.vault if found else otherwise()),
    )


def _masks(graph: Any) -> Iterator[TurnMask]:
    for node in graph.nodes.values():
        if isinstance(node.bound, Pregel):
            yield from _masks(node.bound)
        function = getattr(node.bound, "func", None) or getattr(node.bound, "afunc", None)
        mask = getattr(
            getattr(function, "__self__", node.bound), "mask", None
        )  # of middleware its methods are the nodes
        if isinstance(mask, TurnMask):
            yield mask
