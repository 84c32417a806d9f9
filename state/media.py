"""What a voice or image message leaves behind."""

from __future__ import annotations

from typing import Final, Literal

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

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
