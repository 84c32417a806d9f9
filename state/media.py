"""What a voice or image message leaves behind."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from discreet.state.text import first_sentences

Modality = Literal["text", "voice", "image"]

TRANSCRIPT_MARK: Final = "[voice transcript]"
"""Stands before the words of a recording where a model reads them."""


class MediaMeta(TypedDict, total=False):
    """All that is kept of a recording or an image beside its summary."""

    modality: Modality
    """What it is; a message may have several of different kinds."""
    language: str
    """BCP 47 tag of what is spoken or written."""
    mime: str
    """Media type, for example `audio/ogg`."""
    durationMs: int
    """Length of a recording in milliseconds."""
    sha256: str
    """Hex digest of the payload."""
    imageType: str
    """What kind of image it is, for example `screenshot`."""
    tags: list[str]
    """Short labels of what it shows."""


KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("image", "image_url", "input_image", "image_generation_call"), "image"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
    **dict.fromkeys(("video", "video_url", "input_video"), "video"),
    **dict.fromkeys(("file", "input_file", "document", "text-plain", "media"), "file"),
}
"""What a content block is, by the types that LangChain and the providers give it."""

_TYPES: Final = {
    *(mime for types in mimetypes.MimeTypes(filenames=()).types_map for mime in types.values()),
    *("image/webp", "image/heic", "audio/wav", "audio/mp3", "audio/ogg", "audio/webm", "audio/mp4", "audio/flac"),
}
"""Media types that are written. Another is a text of the caller's, which could say anything."""
SUMMARIES: Final = ("summary", "caption")
"""Keys of a medium's block that say in a few words what it holds. Its transcript is not one of them: it is never kept."""

_PAYLOADS: Final = ("base64", "data", "file_data", "result", "url", "image_url", "video_url")
_NAMES: Final = ("mime_type", "media_type", "mime", "format")


def media_texts(content: Any, *, alone: bool = False) -> list[str]:
    """Return what stands for the media in a message's content: the summary or caption that a block has, else kind and size, of a URL the kind.

    Where one summary is all that there is (`alone`), it stands without the mark of what it is of.

    Example:
        >>> media_texts([{"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}, {"type": "file", "file_id": "f"}])
        ['[image/png, 8 B]', '[file]']
        >>> media_texts([{"type": "image", "url": "…", "caption": "A cat."}])
        ['[image] A cat.']
    """
    blocks = content if isinstance(content, list | tuple) else ()
    kinds = ((block, KINDS.get(str(block.get("type")))) for block in blocks if isinstance(block, Mapping))
    media = [(block, kind) for block, kind in kinds if kind is not None]
    bare = alone and len(media) == 1
    return [_summary(block, kind, bare=bare) or _label(block, kind) for block, kind in media]


def _summary(block: Mapping[str, Any], kind: str, *, bare: bool) -> str:
    """Return the summary or caption of a medium, marked with what it is of; empty if it has none."""
    said = next((said for name in SUMMARIES if isinstance(said := block.get(name), str) and said.strip()), "")
    found = first_sentences(said)
    return found if bare or not found else f"[{'voice' if kind == 'audio' else kind}] {found}"


def _label(block: Mapping[str, Any], kind: str) -> str:
    parts = [block, *(part for part in block.values() if isinstance(part, Mapping))]
    payloads = [*_found(parts, _PAYLOADS)]
    said = [each.lower() for each in _found(parts, _NAMES) if isinstance(each, str)]
    said += [each[5:].split(";")[0].split(",")[0].lower() for each in payloads if _is_data_url(each)]
    known = next((mime for each in said for mime in (each, f"{kind}/{each}") if mime in _TYPES), kind)
    size = next((size for each in payloads if (size := _bytes(each))), 0)
    return f"[{known}, {_written(size)}]" if size else f"[{known}]"


def _found(parts: list[Mapping[str, Any]], names: tuple[str, ...]) -> Iterator[Any]:
    yield from (part[name] for part in parts for name in names if part.get(name))


def _is_data_url(payload: Any) -> bool:
    return isinstance(payload, str) and payload[:5].lower() == "data:"


def _bytes(payload: Any) -> int:
    """Return how many bytes a payload has, about; 0 if it isn't here but somewhere else."""
    if isinstance(payload, bytes | bytearray | memoryview):
        return len(payload)
    if not isinstance(payload, str) or "://" in payload[:10]:
        return 0
    held = payload.partition(",")[2] if _is_data_url(payload) else payload
    return len(held.rstrip("=")) * 3 // 4


def _written(size: int) -> str:
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
