"""The delimited blocks of data in the system prompt, and the lines in them."""

from __future__ import annotations

import re
from typing import get_args

from discreet.prompts.data import as_data
from discreet.prompts.markers import FACTS_TAG, PAST_TAG, ROUNDS_TAG, SUMMARY_TAG
from discreet.state.conversation import RetrievedMemory
from discreet.state.records import MemoryType

__all__ = ["FACTS_TAG", "PAST_TAG", "PAST_TYPES", "ROUNDS_TAG", "SUMMARY_TAG", "block", "memory_line"]

PAST_TYPES = frozenset({"conversation_summary", "turn"})
"""Memories that tell of a conversation. They stand in the instructions, never as messages that nobody wrote."""

_TYPES = frozenset(get_args(MemoryType))
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def block(tag: str, lines: str) -> str:
    """Return `lines` between the tags."""
    return f"<{tag}>\n{lines}\n</{tag}>"


def memory_line(memory: RetrievedMemory, text: str | None = None) -> str:
    """Return one memory as `- [type] text (day)`, with another `text` if given. Nothing of it is taken as it came."""
    kind = memory["type"] if memory["type"] in _TYPES else "memory"
    day = _DAY.match(memory["created_at"])
    line = f"- [{kind}] {as_data(memory['text'] if text is None else text)}"
    return f"{line} ({day[0]})" if day else line
