"""Check the payload of a recording or an image, and read from it what may be kept: size, digest, type and length."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import wave
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import filetype

from discreet.errors import InputTooLargeError, UnsupportedInputError
from discreet.state.media import Modality

MIME: Final = re.compile(r"[A-Za-z]{1,20}/[A-Za-z0-9.+-]{1,80}(; ?codecs?=\"?[A-Za-z0-9.]{1,20}\"?)?")
"""A media type (RFC 6838, section 4.2). What has another form is left out: it could hold anything."""

FAMILIES: Final[Mapping[Modality, str]] = {"voice": "audio", "image": "image"}

CONTAINERS: Final = frozenset(
    {"video/webm", "video/mp4", "video/3gpp", "video/quicktime", "video/x-matroska", "application/ogg"}
)
"""Formats that hold recordings as well as films; browsers record voice into the first two."""

SCHEMES: Final = frozenset({"https", "http", "gs"})
"""Of URLs that are passed on to the model's provider. Some client libraries read `file:` and fetch others themselves."""

MAX_REFERENCE_CHARS: Final = 8_000
"""A signed URL has some 2,000."""

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_SNIFFED_BYTES = 8_192
_BROKEN = "The media's base64 payload is broken. Send it again."


def payload_bytes(block: Mapping[str, Any], *, max_bytes: int, used: int = 0) -> bytes | None:
    """Return the payload; None where it was not sent, but named by `url` or `file_id`, or nothing came at all.

    Args:
        block: In LangChain's standard form.
        max_bytes: Of all the media of a message.
        used: By those before this one.

    Raises:
        UnsupportedInputError: It is broken, or named in a way that can't be passed on.
        InputTooLargeError: With it there are over `max_bytes`.
    """
    payload = block.get("base64")
    if payload is None:
        _check_reference(block)
        return None
    if not isinstance(payload, str) or not payload:
        raise UnsupportedInputError(_BROKEN)
    size = used + len(payload.rstrip("=")) * 3 // 4
    if size > max_bytes:
        raise InputTooLargeError(size, max_bytes, "bytes of media")
    try:
        return base64.b64decode(payload, validate=True)
    except ValueError:  # binascii.Error, or a letter outside ASCII
        raise UnsupportedInputError(_BROKEN) from None


def _check_reference(block: Mapping[str, Any]) -> None:
    for key in ("url", "file_id"):
        named = block.get(key)
        if named is not None and not (isinstance(named, str) and 0 < len(named) <= MAX_REFERENCE_CHARS):
            raise UnsupportedInputError("The media's url or file_id can't be used. Send a short text, or the payload.")
    if url := block.get("url"):
        try:
            scheme = urlsplit(url).scheme.lower()
        except ValueError:
            scheme = ""
        if scheme not in SCHEMES:
            raise UnsupportedInputError("Media by URL are taken from https, http and gs. Send the payload instead.")


def digest_of(payload: bytes | None, claimed: object) -> str | None:
    """Return the SHA-256 of the payload; the caller's own where no bytes came along.

    Raises:
        UnsupportedInputError: The two are not the same.
    """
    known = claimed.lower() if isinstance(claimed, str) and _SHA256.fullmatch(claimed) else None
    if payload is None:
        return known
    digest = hashlib.sha256(payload).hexdigest()
    if isinstance(claimed, str) and known != digest:
        raise UnsupportedInputError("The media does not match the sha256 sent with it. Send it again.")
    return digest


def mime_of(payload: bytes | None, claimed: object, modality: Modality) -> str | None:
    """Return the media type: the caller's, else what the first bytes say; None if neither says.

    Raises:
        UnsupportedInputError: One of them contradicts `modality`, or a payload came of which nobody says what it is.
    """
    said, found = _said(claimed), _sniffed(payload)
    for mime in (said, found):
        if mime and not _fits(mime, modality):
            raise UnsupportedInputError(
                f"The media is no {modality}, or its mime_type is wrong. Send both as they are."
            )
    if payload is not None and not (said or found):
        raise UnsupportedInputError("What kind of media this is can't be told. Send its mime_type.")
    return said or (found and _spoken(found, modality))


def known_mime(block: Mapping[str, Any], modality: Modality) -> str | None:
    """Return the type of a block, from its first bytes where the caller gave none. Nothing is checked."""
    said = _said(block.get("mime_type") or block.get("mime"))
    if said or not isinstance(block.get("base64"), str):
        return said
    try:
        found = _sniffed(base64.b64decode(block["base64"][: _SNIFFED_BYTES // 3 * 4]))
    except ValueError:
        return None
    return found and _spoken(found, modality)


def _said(claimed: object) -> str | None:
    """Return what the caller says, if it says anything."""
    usable = isinstance(claimed, str) and MIME.fullmatch(claimed) and claimed.lower() != "application/octet-stream"
    return str(claimed) if usable else None


def _sniffed(payload: bytes | None) -> str | None:
    found: str | None = None if payload is None else filetype.guess_mime(payload[:_SNIFFED_BYTES])
    return found


def _fits(mime: str, modality: Modality) -> bool:
    bare = mime.split(";", maxsplit=1)[0].strip().lower()
    return bare.split("/")[0] == FAMILIES[modality] or (modality == "voice" and bare in CONTAINERS)


def _spoken(mime: str, modality: Modality) -> str:
    """Return the type of a recording as providers name it: `audio/wav`, not `audio/x-wav` nor `video/webm`."""
    return f"audio/{mime.split('/')[1].removeprefix('x-')}" if modality == "voice" else mime


def wav_milliseconds(payload: bytes | None) -> int | None:
    """Return the length of a recording in uncompressed WAV, None for anything else."""
    if payload is None or payload[:4] != b"RIFF":
        return None
    try:
        with wave.open(io.BytesIO(payload)) as recording:
            frames = min(recording.getnframes(), len(payload) // (recording.getnchannels() * recording.getsampwidth()))
            return round(1_000 * int(frames) / int(recording.getframerate()))
    except (wave.Error, EOFError, RuntimeError, ArithmeticError):  # compressed, cut off, sizes that lie, or zeros
        return None
