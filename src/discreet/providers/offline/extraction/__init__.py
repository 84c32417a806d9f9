"""Find by rules what a user states about themselves: the extractor of who has no model. The rules are data, by language.

It errs towards silence: a memory that nobody stated is worse than one that is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.prompts.extraction import SaidTurn
from discreet.providers.offline.extraction.items import Found, found_in
from discreet.retrieval.telling import teller

__all__ = ["extract"]


def extract(turns: Sequence[SaidTurn], *, known: Sequence[str] = (), forgotten: Sequence[str] = ()) -> dict[str, Any]:
    """Return what `turns` state about the user, in the shape of `EXTRACTION_SCHEMA`; turn n is called `tn`.

    Pure, and the same for the same turns. What tells one of the `forgotten` texts is left out, what one of the `known`
    says already gets the action `nothing`.

    Example:
        >>> from datetime import UTC, datetime
        >>> said = SaidTurn(datetime(2026, 11, 25, tzinfo=UTC), "I'm allergic to peanuts, what can I order?")
        >>> [(item["text"], item["type"], item["importance"]) for item in extract([said])["items"]]
        [("I'm allergic to peanuts", 'user_fact', 9)]
    """
    is_forgotten = teller(forgotten)
    items: dict[str, Found] = {}
    for number, turn in enumerate(turns, 1):
        for found in found_in(turn):
            if not is_forgotten(found.text):
                items.setdefault(found.text.casefold(), found).sources.append(f"t{number}")
    return {
        "items": [found.item(known) for found in items.values()],
        "moments": [moment for found in items.values() for moment in found.moments()],
    }
