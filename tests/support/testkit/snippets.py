"""The Python blocks of a page, run as they stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def snippets(page: str, **given: Any) -> Iterator[dict[str, Any]]:
    """Run each block of a page of docs/, which may use the names given, and yield its names."""
    for _, code in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        names: dict[str, Any] = dict(given)
        exec(compile(code, page, "exec", dont_inherit=True), names)
        yield names


def shown_after(page: str, command: str) -> list[str]:
    """Return the lines that a page of docs/ shows as the output of a command, without those that stand for more."""
    text = (DOCS / page).read_text(encoding="utf-8").split(f"$ {command}\n", 1)[1]
    return [
        line for line in re.split(r"^(?:\$ |```)", text, maxsplit=1, flags=re.MULTILINE)[0].splitlines() if line != "…"
    ]


def texts(page: str) -> list[str]:
    """Return the `text` blocks of a page of docs/: what a program prints."""
    return re.findall(r"^```text\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def alike(line: str) -> str:
    """Return a line of output without what differs from run to run: numbers, keys, addresses, room between columns."""
    line = re.sub(r"postgresql://\S+", "DSN", re.sub(r"sk-\w+|sk-…", "KEY", line))
    return re.sub(r"\s+", " ", re.sub(r"\b[\w.]*\d[\w.]*", "0", line)).strip()


def patched(source: str, diff: str) -> str:
    """Return the source with the lines of a diff changed; lines that it leaves out stay."""
    lines, place = source.splitlines(), 0
    for sign, line in ((each[:1], each[1:]) for each in diff.splitlines()):
        if sign == "+":
            lines.insert(place, line)
        elif sign:
            place = lines.index(line, place)
            if sign == "-":
                del lines[place]
                continue
        place += bool(sign)
    return "\n".join(lines)
