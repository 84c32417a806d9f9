"""What an administrator makes of one memory. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.errors import InvalidRecordError
from discreet.state.records import MAX_LABELS, MAX_MEMORY_CHARS, MemoryRecord

SOURCE = "admin"
"""The door that an edited memory came through."""
MAX_TAG_CHARS = 100
CHANGED_MEANWHILE = "changed_meanwhile"


@dataclass(kw_only=True)
class MemoryForm:
    """The three things that can be edited, as they stand in the form."""

    text: str
    importance: str
    tags: str
    """One a line."""
    loaded: str
    """Tells the state that the form was made of."""
    errors: dict[str, str] = field(default_factory=dict)
    """By field; `CHANGED_MEANWHILE` is none."""

    def record(self, stored: MemoryRecord) -> MemoryRecord | None:
        """Return `stored` with what was typed; None if something is wrong, which `errors` then says."""
        tags = list(dict.fromkeys(filter(None, (line.strip() for line in self.tags.splitlines()))))
        if not self.text.strip():
            self.errors["text"] = "Write what is remembered, or delete the memory."
        elif len(self.text) > MAX_MEMORY_CHARS:
            self.errors["text"] = f"{len(self.text):,} characters; at most {MAX_MEMORY_CHARS:,} are kept."
        importance = (
            int(self.importance) if self.importance.strip().isdecimal() and len(self.importance) < MAX_TAG_CHARS else 0
        )
        if not 1 <= importance <= 10:  # the scale of MemoryRecord.importance
            self.errors["importance"] = "A whole number from 1 to 10."
        if len(tags) > MAX_LABELS or any(len(tag) > MAX_TAG_CHARS for tag in tags):
            self.errors["tags"] = f"At most {MAX_LABELS} tags of {MAX_TAG_CHARS} characters."
        if self.loaded != state_of(stored):
            self.errors[CHANGED_MEANWHILE] = "Somebody else changed this memory meanwhile."
            self.loaded = state_of(stored)
        if self.errors:
            return None
        provenance = stored.provenance.model_copy(update={"source": SOURCE})
        edited = {"text": self.text, "importance": importance, "tags": tags, "provenance": provenance}
        try:
            return MemoryRecord(**(dict(stored) | edited))
        except InvalidRecordError as error:
            self.errors["text"] = str(error)
            return None


def form_of(stored: MemoryRecord) -> MemoryForm:
    """Return the form as it is first shown."""
    tags = "\n".join(stored.tags)
    return MemoryForm(text=stored.text, importance=str(stored.importance), tags=tags, loaded=state_of(stored))


def posted_form(posted: Mapping[str, str]) -> MemoryForm:
    """Return the form with what was typed."""
    text, importance, tags, loaded = (posted.get(name, "") for name in ("text", "importance", "tags", "loaded"))
    return MemoryForm(text=text, importance=importance, tags=tags, loaded=loaded)


def state_of(stored: MemoryRecord) -> str:
    """Return a digest of what can be edited, and of whether it still holds."""
    parts = (stored.text, str(stored.importance), *stored.tags, str(stored.valid_to))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
