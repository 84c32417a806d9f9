"""What an administrator looks for on the pages of one user."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from discreet.state.records import MemoryType
from discreet.storage.people.timeline import Kind

TYPES: tuple[str, ...] = get_args(MemoryType)


class View(BaseModel):
    """A list of one user's memories, or a question about them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: str = ""
    """The user, as the administrator named them."""
    query: str = ""
    """What is searched for; already redacted."""
    type: Literal[MemoryType, ""] = ""
    tag: str = ""
    on: date | None = None
    """What held on this day; None: what holds now."""
    question: str = ""
    """What is asked to see what it would recall; already redacted."""
    app_name: str = "default"
    """In which application it is asked."""
    kind: Literal[Kind, ""] = ""
    """What a timeline shows; empty: all."""
    before: tuple[datetime, str, str] | None = None
    """Where a page of a timeline begins."""
