"""Read the content blocks of a user's message, whoever's form they have, and check the payloads of its media."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote_to_bytes, urlsplit

import filetype

from discreet.errors import InputTooLargeError, UnsupportedInputError
from discreet.state.media import Modality

Block = dict[str, Any]

TYPES: Final[Mapping[str, str]] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
}
"""Blocks of media: LangChain's and Anthropic's, and OpenAI's two. Google's `media` says by its media type what it is."""

HOLDERS: Final = ("image_url", "input_audio", "source")
"""Keys under which OpenAI and Anthropic have the payload."""

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
_SNIFFED_CHARS = 10_920
"""Of base64: 8 kB."""
_BROKEN = "The media's base64 payload is broken. Send it again."


def standard_blocks(content: str | Sequence[str | Mapping[str, Any]]) -> list[Block]:
    """Return the blocks of a message's content: `text`, `image`, `audio`, or another type that can't be taken.

    A medium has its payload in `base64` (a string), `url` or `file_id`, and beside it what the caller sent along. LangChain's
    `content_blocks` would not do: they know neither `input_image` nor Google's `media`, nor a form with something beside it. Nothing is
    decoded, and no URL is fetched but a `data:` one, which holds its payload itself.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": item} if isinstance(item, str) else _standard(item) for item in content]


def _standard(block: Mapping[str, Any]) -> Block:
    kind = str(block.get("type", ""))
    kind = TYPES.get(kind) or TYPES.get(str(block.get("mime_type", "")).split("/")[0] if kind == "media" else "", "")
    if not kind:
        return dict(block)
    along = {**_mapping(block.get("extras")), **_mapping(block.get("metadata")), **block}
    held: Any = next((along[key] for key in HOLDERS if along.get(key)), None)
    held = held if isinstance(held, Mapping) else {"url": held}
    old_id = along.get("id") if along.get("source_type") == "id" else None  # of blocks before LangChain v1
    form = f"audio/{held['format']}" if held.get("format") else None
    found = {
        "base64": _first(along.get("base64"), along.get("data"), held.get("data")),
        "url": _first(along.get("url"), along.get("file_uri"), held.get("url")),
        "file_id": _first(along.get("file_id"), held.get("file_id"), old_id),
        "mime_type": _first(held.get("media_type"), along.get("mime_type"), along.get("mime"), form),
    }
    rest = {key: value for key, value in along.items() if key not in (*HOLDERS, "source_type", "data", "file_uri")}
    return _with_payload({**rest, **{key: each for key, each in found.items() if each is not None}, "type": kind})


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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


def mime_of(block: Mapping[str, Any], modality: Modality, *, checked: bool = True) -> str | None:
    """Return the media type of a block: the caller's, else what the first bytes say; None if neither says.

    Raises:
        UnsupportedInputError: It is to be `checked`, and one of the two contradicts `modality`, or a payload came of which nobody says
            what it is.
    """
    said, found = block.get("mime_type"), _sniffed(block.get("base64"))
    if not (isinstance(said, str) and MIME.fullmatch(said) and said.lower() != "application/octet-stream"):
        said = None
    if checked and not all(_fits(mime, modality) for mime in (said, found) if mime):
        raise UnsupportedInputError(f"The media is no {modality}, or its mime_type is wrong. Send both as they are.")
    if checked and block.get("base64") and not (said or found):
        raise UnsupportedInputError("What kind of media this is can't be told. Send its mime_type.")
    if said or not found or modality != "voice":
        return said or found
    return f"audio/{found.split('/')[1].removeprefix('x-')}"  # as providers name it: not `audio/x-wav` nor `video/webm`


def _sniffed(payload: object) -> str | None:
    try:
        head = base64.b64decode(payload[:_SNIFFED_CHARS]) if isinstance(payload, str) else b""
    except ValueError:
        return None
    found: str | None = filetype.guess_mime(head) if head else None
    return found


def _fits(mime: str, modality: Modality) -> bool:
    bare = mime.split(";", maxsplit=1)[0].strip().lower()
    return bare.split("/")[0] == FAMILIES[modality] or (modality == "voice" and bare in CONTAINERS)
