"""Data and schemas of prompts whose answer is JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any


def data_blocks(blocks: Sequence[tuple[str, Iterable[object]]]) -> str:
    """Return blocks between tags, a JSON value on each line, without the tags themselves in it: no text can leave its block."""
    delimiter = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(tag for tag, _ in blocks)})\b)", re.IGNORECASE)
    written = []
    for tag, values in blocks:
        lines = [delimiter.sub("‹", json.dumps(value, ensure_ascii=False)) for value in values]
        if lines:
            written.append("\n".join([f"<{tag}>", *lines, f"</{tag}>"]))
    return "\n\n".join(written)


def read_block(data: str, tag: str) -> list[Any]:
    """Return the values of a block that `data_blocks` wrote, in their order; none if there is no such block."""
    found = re.search(rf"^<{tag}>\n(.*?)\n</{tag}>$", data, re.DOTALL | re.MULTILINE)
    return [json.loads(line) for line in found[1].split("\n")] if found else []


def closed_object(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others, all required, as strict structured output demands."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
