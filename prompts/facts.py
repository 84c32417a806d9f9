"""Tell a model what is known of the user: the retrieved memories, a line each, as delimited data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, get_args

from discreet.prompts.data import blocks, mark_of, plain, quoted
from discreet.prompts.fitting import LEAST_TOKENS, Count, cut_middle, fair_shares
from discreet.prompts.texts import prompt_text
from discreet.state.conversation import RetrievedMemory
from discreet.state.records import PAST_TYPES, MemoryType

FACTS_TAG: Final = "known_facts"
PAST_TAG: Final = "past_conversations"

MAX_TOKENS: Final = 1_200
"""Of memories beside a conversation that somebody else keeps: some forty facts of a sentence, or five of a page cut short."""

_TYPES = frozenset(get_args(MemoryType))
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})? UTC)?", re.ASCII)

_MINUTE, _SECOND = len("2026-03-05 10:00"), len("2026-03-05 10:00:00")


@dataclass(frozen=True, kw_only=True)
class ToldMemories:
    """Memories as a prompt tells them."""

    lines: str = ""
    tokens: int = 0
    cut: int = 0
    """How many were shortened or left out."""


def memory_block(memories: Sequence[RetrievedMemory], *, count: Count, max_tokens: int = MAX_TOKENS) -> str:
    """Return what is appended to a system message: what is known of the user, and that it is data; empty if there is nothing.

    Args:
        memories: Best first; those of the types `turn` and `conversation_summary` are past conversations.
        count: Counts tokens, for example `discreet.providers.tokens.token_counter(model_name)`.
        max_tokens: Of the memories. Long ones lose their middle rather than others being left out.

    Example:
        >>> from discreet.providers.tokens import count_tokens
        >>> tea = {"entry_id": "1", "type": "preference", "text": "Likes tea", "created_at": "2026-03-05", "relevance": 0.8}
        >>> print(memory_block([tea], count=count_tokens))  # doctest: +ELLIPSIS
        What is known stands between tags whose names end in -...: ...
        <BLANKLINE>
        <known_facts-...>
        - [preference] "Likes tea" (2026-03-05)
        </known_facts-...>
    """
    facts, past = split_memories(memories)
    told_facts = tell_memories(facts, max_tokens - least_of(past, max_tokens), count)
    told_past = tell_memories(past, max_tokens - told_facts.tokens, count)
    return explained({FACTS_TAG: told_facts.lines, PAST_TAG: told_past.lines})


def explained(contents: Mapping[str, str], mark: str | None = None) -> str:
    """Return the blocks of `contents` that hold something, behind the words that say what they are; empty if none does."""
    told = {tag: lines for tag, lines in contents.items() if lines}
    mark = mark or mark_of("\n".join(told.values()))
    return f"{prompt_text('memory_facts').replace('{mark}', mark)}\n\n{blocks(told, mark)}" if told else ""


def split_memories(memories: Sequence[RetrievedMemory]) -> tuple[list[RetrievedMemory], list[RetrievedMemory]]:
    """Return facts and past conversations, with the times that tell which is newer."""
    dated = with_times(memories)
    return (
        [memory for memory in dated if memory["type"] not in PAST_TYPES],
        [memory for memory in dated if memory["type"] in PAST_TYPES],
    )


def tell_memories(memories: Sequence[RetrievedMemory], limit: int, count: Count) -> ToldMemories:
    """Return as many of the first memories as `limit` tokens hold, long ones without their middle rather than others not at all."""
    lines = [memory_line(memory) for memory in memories]
    sizes = [count(line + "\n") for line in lines]
    told = len(lines)
    while told and sum(min(size, LEAST_TOKENS + 1) for size in sizes[:told]) > limit:
        told -= 1
    kept: list[str] = []
    for memory, line, size, share in zip(memories, lines, sizes, fair_shares(sizes[:told], limit), strict=False):
        short = line if size <= share else _shortened(memory, share - 1, count)
        if short:
            kept.append(short)
    tokens = sum(count(line + "\n") for line in kept)
    return ToldMemories(lines="\n".join(kept), tokens=tokens, cut=len(set(lines) - set(kept)))


def least_of(past: Sequence[RetrievedMemory], limit: int) -> int:
    """Return what facts leave to past conversations."""
    return min(len(past) * LEAST_TOKENS, limit // 4)


def memory_line(memory: RetrievedMemory, text: str | None = None) -> str:
    """Return one memory as `- [type] "text" (day)`, with another `text` if given. Nothing of it is taken as it came.

    The day is that of `created_at`, with the time of day where `with_times` put it there.
    """
    kind = memory["type"] if memory["type"] in _TYPES else "memory"
    day = _DAY.match(memory["created_at"])
    line = f"- [{kind}] {quoted(memory['text'] if text is None else text)}"
    return f"{line} ({day[0]})" if day else line


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


def _shortened(memory: RetrievedMemory, limit: int, count: Count) -> str:
    return cut_middle(plain(memory["text"]), limit, count, render=lambda text: memory_line(memory, text))
