"""Take the media out of a user's message: what is kept is a summary and metadata, never the payload."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import HumanMessage

from discreet.errors import InputTooLargeError, UnsupportedInputError
from discreet.ports import Media
from discreet.state.media import MediaMeta, Modality

MIME: Final = re.compile(r"[A-Za-z]{1,20}/[A-Za-z0-9.+-]{1,80}(; ?codecs?=[a-z0-9.]{1,20})?")
"""A media type (RFC 6838, section 4.2). What has another form is left out: it could hold anything."""
LANGUAGE: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}")
"""A language tag (RFC 5646, section 2.1)."""

MODALITIES: Final[Mapping[str, Modality]] = {"audio": "voice", "image": "image"}


def split_message(message: HumanMessage, *, max_bytes: int) -> tuple[str, list[Media]]:
    """Return the text of `message` and its media.

    Raises:
        UnsupportedInputError: A block is neither text nor image nor audio, or its payload is broken.
        InputTooLargeError: A payload is over `max_bytes`.
    """
    texts: list[str] = []
    media: list[Media] = []
    for block in message.content_blocks:
        kind = block.get("type")
        if kind == "text":
            texts.append(str(block.get("text", "")))
        elif kind in MODALITIES:
            media.append(_media(dict(block), MODALITIES[kind], max_bytes))
        else:
            raise UnsupportedInputError(
                "The message has a content block that can't be taken. Send text, image or audio blocks."
            )
    return "\n".join(text for text in texts if text), media


def _media(block: dict[str, Any], modality: Modality, max_bytes: int) -> Media:
    described = {**(block.get("extras") or {}), **(block.get("metadata") or {}), **block}
    given = next((described[key] for key in ("summary", "transcript", "caption") if described.get(key)), None)
    meta = MediaMeta()
    mime = str(described.get("mime_type") or described.get("mime") or "")
    if MIME.fullmatch(mime):
        meta["mime"] = mime
    language = str(described.get("language") or "")
    if LANGUAGE.fullmatch(language):
        meta["language"] = language
    duration = described.get("durationMs", described.get("duration_ms"))
    if isinstance(duration, int | float) and not isinstance(duration, bool) and duration >= 0:
        meta["durationMs"] = round(duration)
    if digest := _digest(block, described.get("sha256"), max_bytes):
        meta["sha256"] = digest
    return Media(modality=modality, meta=meta, block=block, given=str(given) if given else None)


def _digest(block: Mapping[str, Any], claimed: object, max_bytes: int) -> str | None:
    """Return the SHA-256 of the payload; the caller's own where no bytes came along."""
    payload = block.get("base64")
    if not isinstance(payload, str):
        return claimed.lower() if isinstance(claimed, str) and _is_sha256(claimed) else None
    size = len(payload) * 3 // 4
    if size > max_bytes:
        raise InputTooLargeError(size, max_bytes, "bytes of media")
    try:
        digest = hashlib.sha256(base64.b64decode(payload, validate=True)).hexdigest()
    except binascii.Error:
        raise UnsupportedInputError("The media's base64 payload is broken. Send it again.") from None
    if isinstance(claimed, str) and claimed.lower() != digest:
        raise UnsupportedInputError("The media does not match the sha256 sent with it. Send it again.")
    return digest


def _is_sha256(value: str) -> bool:
    return len(value) == hashlib.sha256().digest_size * 2 and all(char in "0123456789abcdefABCDEF" for char in value)
