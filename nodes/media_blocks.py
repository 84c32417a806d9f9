"""Bring the content blocks of a user's message to LangChain's standard form, whoever's form they have."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from langchain_core.messages import HumanMessage

Block = dict[str, Any]


def standard_blocks(content: str | Sequence[str | Mapping[str, Any]]) -> list[Block]:
    """Return the blocks of a message's content: `text`, `image`, `audio`, or another type that can't be taken.

    A medium has its payload in `base64` (a string), `url` or `file_id`, and beside it what the caller sent along. Nothing
    is decoded, and no URL is fetched but a `data:` one, which holds its payload itself.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {"type": "text", "text": item} if isinstance(item, str) else _with_payload(_standard(item)) for item in content
    ]


def _standard(block: Mapping[str, Any]) -> Block:
    kind = str(block.get("type", ""))
    if kind in _SHAPES:
        return _SHAPES[kind](block)
    if kind in ("image", "audio"):
        return _medium(kind, block)
    if kind in ("text", "video", "file", "text-plain"):
        return dict(block)
    return _translated(block)


def _medium(kind: str, block: Mapping[str, Any]) -> Block:
    """Return LangChain's own block, of today or before v1, or Anthropic's with its `source`."""
    described = {**_mapping(block.get("extras")), **_mapping(block.get("metadata")), **block}
    source = _mapping(described.pop("source", None))
    if source:
        described["mime_type"] = source.get("media_type") or described.get("mime_type")
        described |= {_SOURCES[key]: value for key, value in source.items() if key in _SOURCES}
    if "source_type" in described:
        old = {"base64": "data", "url": "url", "id": "id"}.get(str(described["source_type"]), "")
        described[{"data": "base64", "id": "file_id"}.get(old, "url")] = described.get(old)
    if not described.get("base64") and "data" in described:
        described["base64"] = described["data"]
    return {**described, "type": kind}


def _image_url(block: Mapping[str, Any]) -> Block:
    """Return OpenAI's images, those of its Responses API too."""
    held = block.get("image_url")
    rest = {key: value for key, value in block.items() if key != "image_url"}
    return _medium("image", {**rest, "url": _mapping(held).get("url") if isinstance(held, Mapping) else held})


def _input_audio(block: Mapping[str, Any]) -> Block:
    """Return OpenAI's recordings."""
    held = _mapping(block.get("input_audio"))
    rest = {key: value for key, value in block.items() if key != "input_audio"}
    return _medium("audio", {"mime_type": f"audio/{held.get('format', '')}", **rest, "base64": held.get("data")})


def _google(block: Mapping[str, Any]) -> Block:
    """Return Google's media, whose type says which kind they are."""
    kind = str(block.get("mime_type", "")).split("/")[0]
    if kind not in ("image", "audio"):
        return dict(block)
    return _medium(kind, {**block, "url": block.get("file_uri")})


_SHAPES = {"image_url": _image_url, "input_image": _image_url, "input_audio": _input_audio, "media": _google}
_SOURCES = {"data": "base64", "url": "url", "file_id": "file_id"}


def _translated(block: Mapping[str, Any]) -> Block:
    """Return what LangChain makes of a provider's block, as `non_standard` if it does not know it."""
    try:
        (translated,) = HumanMessage([dict(block)]).content_blocks
    except Exception:  # noqa: BLE001  # its translators trip over malformed blocks in ways of their own
        return {"type": "non_standard"}
    found: Block = dict(translated)
    return _medium(str(found["type"]), found) if found.get("type") in ("image", "audio") else found


def _with_payload(block: Block) -> Block:
    """Return `block` with bytes and `data:` URLs as base64."""
    held, url = block.get("base64"), block.get("url")
    if isinstance(held, bytes | bytearray | memoryview):
        block["base64"] = base64.b64encode(held).decode()
    elif not held and isinstance(url, str) and url[:5].lower() == "data:":
        head, _, data = url[5:].partition(",")
        mime, *options = [part.strip() for part in head.split(";")]
        coded = bool(options) and options[-1].lower() == "base64"
        block["base64"] = data if coded else base64.b64encode(unquote_to_bytes(data)).decode()
        block["mime_type"] = block.get("mime_type") or mime
        del block["url"]
    return block


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
