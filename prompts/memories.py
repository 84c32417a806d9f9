"""Tell the retrieved memories, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.prompts.blocks import memory_line
from discreet.prompts.counting import Count
from discreet.prompts.cutting import LEAST_TOKENS, cut_middle, fair_shares
from discreet.prompts.data import as_data
from discreet.state.conversation import RetrievedMemory


@dataclass(frozen=True, kw_only=True)
class ToldMemories:
    """Memories as a prompt tells them."""

    lines: str = ""
    tokens: int = 0
    cut: int = 0
    """How many were shortened or left out."""


def tell_memories(memories: Sequence[RetrievedMemory], limit: int, count: Count) -> ToldMemories:
    """Return as many of the first memories as `limit` tokens hold, long ones without their middle rather than others not at all."""
    lines = [memory_line(memory) for memory in memories]
    sizes = [count(line + "\n") for line in lines]
    told = len(lines)
    while told and _least(sizes[:told]) > limit:
        told -= 1
    kept: list[str] = []
    for memory, line, size, share in zip(memories, lines, sizes, fair_shares(sizes[:told], limit), strict=False):
        short = line if size <= share else _shortened(memory, share - 1, count)
        if short:
            kept.append(short)
    tokens = sum(count(line + "\n") for line in kept)
    return ToldMemories(lines="\n".join(kept), tokens=tokens, cut=len(set(lines) - set(kept)))


def _least(sizes: Sequence[int]) -> int:
    """Return what memories of these sizes take when they are as short as can be."""
    return sum(min(size, LEAST_TOKENS + 1) for size in sizes)


def _shortened(memory: RetrievedMemory, limit: int, count: Count) -> str:
    return cut_middle(as_data(memory["text"]), limit, count, render=lambda text: memory_line(memory, text))
