"""stub"""
from collections.abc import Sequence
from typing import Any
from discreet.prompts.memories import tell_memories
from discreet.prompts.blocks import FACTS_TAG, block, with_times
from discreet.prompts.texts import prompt_text


def memory_block(memories: Sequence[Any], *, count: Any, max_tokens: int = 1200) -> str:
    """stub"""
    told = tell_memories(with_times(memories), max_tokens, count)
    return "\n\n".join([prompt_text("memory_facts"), block(FACTS_TAG, told.lines)]) if told.lines else ""
