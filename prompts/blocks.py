"""The delimited blocks of data in the system prompt, and the lines in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import get_args

from discreet.prompts.data import as_data
from discreet.prompts.markers import FACTS_TAG, PAST_TAG, ROUNDS_TAG, SUMMARY_TAG
from discreet.state.conversation import RetrievedMemory
from discreet.state.records import PAST_TYPES, MemoryType

__all__ = ["FACTS_TAG", "PAST_TAG", "PAST_TYPES", "ROUNDS_TAG", "SUMMARY_TAG", "block", "memory_line", "with_times"]

_TYPES = frozenset(get_args(MemoryType))
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})? UTC)?", re.ASCII)

_MINUTE, _SECOND = len("2026-03-05 10:00"), len("2026-03-05 10:00:00")


def block(tag: str, lines: str) -> str:
    """Return `lines` between the tags."""
    return f"<{tag}>\n{lines}\n</{tag}>"


def with_times(memories: Sequence[RetrievedMemory]) -> list[RetrievedMemory]:
    """Return `memories` with the time of day of those that were said on one day and not at once: which came later counts.

    What one message said together has one time, and needs none. To the minute, or to the second where it takes that.
    """
    said = [_utc(memory["created_at"]) for memory in memories]
    return [
        memory if when is None else {**memory, "created_at": _shown(when, said)}
        for memory, when in zip(memories, said, strict=True)
    ]


def _utc(created_at: str) -> datetime | None:
    """Return an aware time in ISO 8601, as memories have it; None for anything else."""
    try:
        when = datetime.fromisoformat(created_at)
        return when.astimezone(UTC) if when.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _shown(when: datetime, said: Iterable[datetime | None]) -> str:
    """Return the day of `when`, with as much of the time as tells it from the others of `said`."""
    day, minute = when.date().isoformat(), when.isoformat(" ", "minutes")[:_MINUTE]
    others = [other for other in said if other is not None and other != when]
    if any(other.isoformat(" ", "minutes")[:_MINUTE] == minute for other in others):
        return f"{when.isoformat(' ', 'seconds')[:_SECOND]} UTC"
    return f"{minute} UTC" if any(other.date() == when.date() for other in others) else day


def memory_line(memory: RetrievedMemory, text: str | None = None) -> str:
    """Return one memory as `- [type] text (day)`, with another `text` if given. Nothing of it is taken as it came.

    The day is that of `created_at`, with the time of day where `with_times` put it there.
    """
    kind = memory["type"] if memory["type"] in _TYPES else "memory"
    day = _DAY.match(memory["created_at"])
    line = f"- [{kind}] {as_data(memory['text'] if text is None else text)}"
    return f"{line} ({day[0]})" if day else line
