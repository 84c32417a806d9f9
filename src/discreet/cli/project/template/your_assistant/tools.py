"""What the model may call besides the memory tools. Arguments and results are never stored."""

from __future__ import annotations

from langchain_core.tools import BaseTool, tool


@tool
def opening_hours(place: str) -> str:
    """Say when a place is open."""
    return f"{place} is open from 9 to 17."


TOOLS: list[BaseTool] = [opening_hours]
