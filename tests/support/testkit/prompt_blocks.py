"""Read a prompt as a strict reader does: line by line, a block being what stands between two tags with the same mark."""

import json
import re
from typing import NamedTuple

_OPENING = re.compile(r"<([a-z_]+)-([a-z2-7]{8})>")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class ReadPrompt(NamedTuple):
    blocks: dict[str, list[str]]
    """The lines of each block, by tag."""
    outside: str
    """What stands in no block, without the tags."""
    mark: str
    """That of the tags; empty if there is no block."""


def read_prompt(text: str) -> ReadPrompt:
    """Return the blocks of `text` and what is outside of them; a block that is not closed, or comes twice, is an error."""
    blocks: dict[str, list[str]] = {}
    outside: list[str] = []
    marks: set[str] = set()
    lines = iter(text.split("\n"))
    for line in lines:
        opening = _OPENING.fullmatch(line)
        if opening is None:
            outside.append(line)
            continue
        tag, mark = opening.groups()
        assert tag not in blocks
        marks.add(mark)
        blocks[tag] = []
        while (line := next(lines)) != f"</{tag}-{mark}>":
            blocks[tag].append(line)
    assert len(marks) <= 1
    return ReadPrompt(blocks, "\n".join(outside), next(iter(marks), ""))


def strings_of(line: str) -> list[str]:
    """Return the JSON strings of a line, decoded."""
    return [json.loads(found) for found in _STRING.findall(line)]


def without_strings(line: str) -> str:
    """Return a line with each of its JSON strings empty."""
    return _STRING.sub('""', line)
