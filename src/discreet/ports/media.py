"""Voice and images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from discreet.state.media import MediaMeta, Modality


@dataclass(frozen=True, kw_only=True)
class Media:
    """One voice or image payload of a message, in RAM only."""

    modality: Modality
    meta: MediaMeta
    block: dict[str, object]
    """The content block as the caller sent it."""
    given: str | None = None
    """Transcript or caption that came along."""


@runtime_checkable
class MediaSummarizer(Protocol):
    """Says in one to three sentences what a recording or an image holds."""

    async def summarize(self, media: Media) -> str:
        """Return 1–3 sentences.

        Raises:
            MediaSummaryUnavailableError: There is nothing to make a summary from.
        """
        ...
