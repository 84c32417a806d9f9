"""The user's own tool of the day."""

from __future__ import annotations

from langchain_core.tools import tool

from scripted_day.script import tool_rows


@tool
def look_up(query: str) -> str:
    """Find seeds in the catalogue."""
    return "\n".join(tool_rows(query))
