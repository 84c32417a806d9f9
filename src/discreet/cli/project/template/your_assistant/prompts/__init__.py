"""Instructions for the model, one Markdown file each."""

from __future__ import annotations

from pathlib import Path

SYSTEM = Path(__file__).with_name("system.md").read_text(encoding="utf-8")
