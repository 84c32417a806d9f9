"""The system prompt of the assistant: instructions, then what is known about the user as delimited data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from discreet.prompts.blocks import FACTS_TAG, PAST_TAG, PAST_TYPES, block, memory_line
from discreet.prompts.texts import prompt_text
from discreet.state.conversation import RetrievedMemory

__all__ = ["FACTS_TAG", "PAST_TAG", "render_assistant"]


def render_assistant(
    memories: Sequence[RetrievedMemory] = (),
    *,
    system_prompt: str | None = None,
    fits: Callable[[str], bool] = lambda _lines: True,
    last_words: bool = False,
) -> str:
    """Return the system prompt.

    Args:
        memories: Best first. Those that no longer `fit` are cut from the end of the list.
        system_prompt: Replaces the template's own instructions.
        fits: Whether a block of memory lines is within its budget.
        last_words: Asks for an answer without further tool calls.
    """
    parts = [system_prompt or prompt_text("assistant")]
    lines = _fitting([memory_line(m) for m in memories if m["type"] not in PAST_TYPES], fits)
    past = _fitting([memory_line(m) for m in memories if m["type"] in PAST_TYPES], lambda block: fits(lines + block))
    if lines or past:
        parts.append(prompt_text("memory_facts"))
    parts += [block(tag, told) for tag, told in ((FACTS_TAG, lines), (PAST_TAG, past)) if told]
    if last_words:
        parts.append(prompt_text("final_answer"))
    return "\n\n".join(parts)


def _fitting(lines: Iterable[str], fits: Callable[[str], bool]) -> str:
    """Return as many of `lines`, from the first, as fit."""
    block = ""
    for line in lines:
        longer = f"{block}\n{line}" if block else line
        if not fits(longer):
            break
        block = longer
    return block
