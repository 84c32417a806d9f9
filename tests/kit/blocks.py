"""Values in messages whose content is a list of blocks: each ends where the next block begins, or begins where one ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

Content = list[str | dict[str, Any]]

FOLLOWING: Final = {
    "digits": "2 nights, please",
    "letters": "nights, two",
    "a sign": "- 2 nights",
    "a space": " 2 nights",
}
"""What the next block begins with, by its name."""


def block(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def in_blocks(value: str) -> Iterator[tuple[str, Content]]:
    """Yield contents of a message that hold `value`, each with what it is called."""
    for name, following in FOLLOWING.items():
        yield f"before {name}", [block(f"My details: {value}"), block(following)]
    yield "behind digits", [block("Nights: 2"), block(f"{value} are my details")]
    yield "between digits", [block("Nights: 2"), block(value), block("2 of us")]
    yield "in a string", [f"My details: {value}", "2 nights"]
    yield "in a string before a block", [f"My details: {value}", block("2 nights")]
    yield "around an image", [block(f"My details: {value}"), {"type": "image", "url": "https://x.test/i"}, block("2")]
    words = value.split(" ")
    for cut in range(1, len(words)):
        parts = " ".join(words[:cut]), " ".join(words[cut:])
        yield f"in two blocks, {cut}", [block(f"My details: {parts[0]}"), block(f"{parts[1]} and 2 nights")]
