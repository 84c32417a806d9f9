"""Voice and images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from discreet.state.media import MediaMeta, Modality

PAYLOADS: Final = ("base64", "url", "file_id")
"""Keys of LangChain's content blocks that hold or name a payload; one of them is used, the first that is there."""


@dataclass(frozen=True, kw_only=True)
class Media:
    """One voice or image payload of a message, in RAM only. Its text in logs and tracebacks shows metadata alone."""

    modality: Modality
    meta: MediaMeta
    block: dict[str, object] = field(repr=False)
    """The content block in LangChain's standard form, with all that the caller sent along."""
    given: str | None = field(default=None, repr=False)
    """Summary or caption that came along."""
    transcript: str | None = field(default=None, repr=False)
    """Words of the recording that came along. They are never kept as they are."""


def payload_of(block: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block as chat models take it: type, payload and media type, nothing else; None without a payload."""
    found = next((key for key in PAYLOADS if block.get(key)), None)
    if found is None:
        return None
    payload = {"type": block["type"], found: block[found]}
    if mime := block.get("mime_type"):
        payload["mime_type"] = str(mime).split(";")[0].strip()  # providers read a format from it, and know no codecs
    return payload


@runtime_checkable
class MediaSummarizer(Protocol):
    """Says in one to three sentences what a recording or an image holds."""

    async def summarize(self, media: Media) -> str:
        """Return 1–3 sentences.

        Raises:
            MediaSummaryUnavailableError: There is nothing to make a summary from.
        """
        ...
