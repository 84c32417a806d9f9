"""What an administrator makes of a memory that waits. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from discreet.api.admin.memory_form import MemoryForm, state_of
from discreet.api.routes.proposals import FactType
from discreet.state.records import MemoryRecord

FACT_TYPES: Final[tuple[str, ...]] = get_args(FactType)


@dataclass(kw_only=True)
class ReviewForm(MemoryForm):
    """The four things that can be edited, as they stand in the form."""

    type: str

    def changes(self, proposed: MemoryRecord) -> dict[str, Any] | None:
        """Return the fields that are to be kept; None if something is wrong, which `errors` then says."""
        if self.type not in FACT_TYPES:
            self.errors["type"] = "There is no such type."
        edited = self.record(proposed)
        if edited is None:
            return None
        names = ("text", "importance", "tags", "provenance")
        return {"type": self.type, **{name: getattr(edited, name) for name in names}}


def review_form(proposed: MemoryRecord, posted: Mapping[str, str]) -> ReviewForm:
    """Return the form with what was typed, else as it is first shown. What waits does not change."""
    return ReviewForm(
        text=posted.get("text", proposed.text),
        type=posted.get("type", proposed.type),
        importance=posted.get("importance", str(proposed.importance)),
        tags=posted.get("tags", "\n".join(proposed.tags)),
        loaded=state_of(proposed),
    )
