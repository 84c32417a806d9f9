"""Put stored text into a prompt as data: JSON strings, a line each, between tags that no text can contain."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

MAX_DATA_CHARS = 4_000
"""As long as a memory may be; other stores may hold longer ones."""

MARK_CHARS = 8
"""Of the mark in the tags: six tokens. It need not be longer, as it is never one that the data contain."""

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0000-\U000e0fff]")
"""Fillers and variation selectors, which are not of the category Cf (Unicode, Default_Ignorable_Code_Point)."""

_TOKEN = re.compile(
    r"<(?=\|)"  # ChatML, Llama 3 and 4, DeepSeek, Phi, Command R, gpt-oss
    r"|<(?=<?/?sys>)|\[(?=/?(?:inst|system_prompt|available_tools|tool_\w{1,20}|args|call_id|think|img\w{0,10})\])"  # Llama 2, Mistral
    r"|<(?=/?(?:s|bos|eos|pad|unk|mask|sep|cls|(?:start|end|begin)_of_\w{1,20}|\w{1,30}_token|extra_id_\d+)>)"  # Gemma, T5, BERT
    r"|<(?=/?(?:tools?|tool_\w{1,20}|function\w{0,20}|think)>)",  # Qwen, Hermes
    re.IGNORECASE,
)
"""The bracket with which a special token begins, as tokenizers read one."""


class _Shown(dict[int, str]):
    """For `str.translate`: character -> itself, a space for any white space, or nothing where it can't be seen."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        unseen = category in ("Cc", "Cf") or _UNSEEN.match(char) is not None
        self[code] = shown = " " if char.isspace() else "\ufffd" if category == "Cs" else "" if unseen else char
        return shown


class _Normalised(dict[int, str]):
    """For `str.translate`: character -> what tokenizers normalise it to (NFKC), where that is one character."""

    def __missing__(self, code: int) -> str:
        normal = unicodedata.normalize("NFKC", chr(code))
        self[code] = normal = normal if len(normal) == 1 else chr(code)
        return normal


_SHOWN, _NORMALISED = _Shown(), _Normalised()


def readable(text: str) -> str:
    """Return `text` with spaces for white space, without what can't be seen, and with no token that a tokenizer takes as special."""
    if not (text.isascii() and text.isprintable()):
        text = text.translate(_SHOWN)
    view = text if text.isascii() else text.translate(_NORMALISED)
    chars = list(text) if "<" in view or "[" in view else []
    for match in _TOKEN.finditer(view) if chars else ():
        chars[match.start()] = "‹" if view[match.start()] == "<" else "("
    return "".join(chars) or text


def plain(text: str, *, max_chars: int = MAX_DATA_CHARS) -> str:
    r"""Return `text` as `readable` does, on one line of at most `max_chars` characters. Idempotent.

    Example:
        >>> plain("Tea <\u200b 5 °C.\n<|im_end|> [/INST] <b>bold</b>, <EMAIL>")
        'Tea < 5 °C. ‹|im_end|> (/INST] <b>bold</b>, <EMAIL>'
    """
    text = " ".join(readable(text[: 4 * max_chars]).split())
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def quoted(text: str) -> str:
    """Return `text` as a JSON string on one line, see `plain`; empty if nothing of it is left."""
    text = plain(text)
    return json.dumps(text, ensure_ascii=False) if text else ""


def mark_of(data: str, *, chars: int = MARK_CHARS) -> str:
    """Return `chars` letters and digits that do not occur in `data`, for the tags of its blocks.

    They are a digest of the data: whoever writes a part of them can't foresee it, and the same data have the same mark in
    every process, so that what a provider caches of a prompt stays valid.
    """
    tried, text = 0, data.casefold()
    while (mark := _digest(f"{tried} {data}")[:chars]) in text:
        tried += 1
    return mark


def _digest(text: str) -> str:
    return base64.b32encode(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()).decode().lower()


def blocks(contents: Mapping[str, str], mark: str | None = None) -> str:
    """Return the `contents` that are not empty as blocks, by tag. The mark in the tags is by default that of all of them.

    Example:
        >>> print(blocks({"facts": '- "Likes tea."'}))
        <facts-inbsidqe>
        - "Likes tea."
        </facts-inbsidqe>
    """
    told = {tag: lines for tag, lines in contents.items() if lines}
    mark = mark or mark_of("\n".join(told.values()))
    return "\n\n".join(f"<{tag}-{mark}>\n{lines}\n</{tag}-{mark}>" for tag, lines in told.items())


def data_blocks(values: Mapping[str, Iterable[object]]) -> str:
    """Return blocks with a JSON value on each line."""
    written = {tag: [readable(json.dumps(each, ensure_ascii=False)) for each in lines] for tag, lines in values.items()}
    return blocks({tag: "\n".join(lines) for tag, lines in written.items()})


def read_lines(data: str, tag: str) -> list[str]:
    """Return the lines of a block that `blocks` wrote; none if there is no such block."""
    found = re.search(rf"^<{tag}-([a-z2-7]{{{MARK_CHARS}}})>\n(.*?)\n</{tag}-\1>$", data, re.DOTALL | re.MULTILINE)
    return found[2].split("\n") if found else []


def read_block(data: str, tag: str) -> list[Any]:
    """Return the values of a block that `data_blocks` wrote, in their order; none if there is no such block."""
    return [json.loads(line) for line in read_lines(data, tag)]


def closed_object(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others, all required, as strict structured output demands."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
