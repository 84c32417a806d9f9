"""Summaries of voice and image messages: from words that came along, or from a chat model."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Collection

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.constants import TAG_NOSTREAM

from discreet.errors import MediaSummaryUnavailableError
from discreet.metrics import media_summary_fallbacks
from discreet.ports import Media, TextRedactor
from discreet.ports.media import payload_of
from discreet.prompts.media_summary import render_media_summary, render_transcript, render_transcript_summary
from discreet.providers.recordings import count_words, describe_recording
from discreet.providers.vectors import embeddable
from discreet.redaction.configured import default_redactor
from discreet.state.media import Modality
from discreet.state.message_text import spoken_text
from discreet.state.text import first_sentences, sentences

logger = logging.getLogger(__name__)

MODEL_SECONDS = 8.0
"""Of the 10 that the end of a turn waits for a summary; the rest is for doing without the model."""

MAX_TRANSCRIPT_CHARS = 20_000
"""Some twenty minutes of speech. Of a longer one the model reads both ends."""


TOLD_WORDS = 5
"""A shorter sentence of a transcript ("It hurts.") may stand in a summary by chance."""


class GivenSummarizer:
    """Takes the summary or caption that came along. Of a transcript it tells length and topics, and no sentence.

    Values that `redactor` knows are in no topic; by default it is the one that the settings describe.
    """

    def __init__(self, redactor: TextRedactor | None = None) -> None:
        self._redactor = redactor or default_redactor()

    async def summarize(self, media: Media) -> str:
        """Return one to three sentences that were given, or what a transcript is about.

        Raises:
            MediaSummaryUnavailableError: Nothing was given.
        """
        if summary := first_sentences(media.given or ""):
            return summary
        if not (media.transcript or "").strip():
            raise MediaSummaryUnavailableError
        return await asyncio.to_thread(self._described, media)

    def _described(self, media: Media) -> str:
        return describe_recording(self._redactor.redact(str(media.transcript)), media.modality, media.meta)


class ChatModelSummarizer:
    """Has a chat model summarise a transcript, or the payload itself if the model is multimodal.

    A summary or caption that came along is used as it is. Where the model fails, is too slow, or repeats a sentence of the
    transcript instead of summarising it, `GivenSummarizer` does without it.
    """

    def __init__(
        self,
        model: BaseChatModel,
        *,
        modalities: Collection[Modality] | None = None,
        timeout: float = MODEL_SECONDS,
        redactor: TextRedactor | None = None,
    ) -> None:
        """Ask `model`.

        Args:
            model: Any; the offline model, which understands nothing, is not asked.
            modalities: What payloads it takes; by default those of `modalities_of`.
            timeout: Seconds.
            redactor: For `GivenSummarizer`.
        """
        self._model = model
        self._modalities = modalities_of(model) if modalities is None else modalities
        self._timeout = timeout
        self._given = GivenSummarizer(redactor)

    async def summarize(self, media: Media) -> str:
        """Return 1 to 3 sentences about `media`.

        Raises:
            MediaSummaryUnavailableError: No words came along, and the model does not take this modality, failed or
                answered with nothing.
        """
        if not (media.given or "").strip() and (prompt := self._prompt(media)):
            summary = await self._asked(prompt, media)
            if summary:
                return summary
        return await self._given.summarize(media)

    def _prompt(self, media: Media) -> list[BaseMessage] | None:
        """Return what the model is asked, None if there is nothing that it can be asked about."""
        from discreet.providers.offline import OfflineChatModel  # its rules, which other models do without

        if isinstance(self._model, OfflineChatModel):
            return None
        language = media.meta.get("language")
        if (media.transcript or "").strip():
            words = render_transcript(embeddable(str(media.transcript), MAX_TRANSCRIPT_CHARS))
            return [SystemMessage(render_transcript_summary(language)), HumanMessage(words)]
        payload = payload_of(media.block) if media.modality in self._modalities else None
        if payload is None:
            return None
        return [SystemMessage(render_media_summary(language)), HumanMessage(content=[payload])]

    async def _asked(self, prompt: list[BaseMessage], media: Media) -> str | None:
        """Return the model's summary; None, with a log event and a metric, if there is none that can be used."""
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._model.ainvoke(prompt, {"tags": [TAG_NOSTREAM]})  # not for the caller's stream
        except Exception as error:  # noqa: BLE001  # every provider has errors of its own, and no common base
            _tell(media, type(error).__name__)
            return None
        summary = first_sentences(spoken_text(answer))
        unusable = "empty" if not summary else "repeated" if _repeats(summary, media.transcript or "") else None
        if unusable:
            _tell(media, unusable)
            return None
        return summary


def modalities_of(model: BaseChatModel) -> frozenset[Modality]:
    """Return what `model` takes besides text, as its LangChain profile says; nothing if it has none."""
    profile = model.profile or {}
    inputs: dict[Modality, bool | None] = {"image": profile.get("image_inputs"), "voice": profile.get("audio_inputs")}
    return frozenset(modality for modality, able in inputs.items() if able)


def sent_to(model: BaseChatModel) -> frozenset[Modality]:
    """Return what `model` is sent besides text: images unless its profile says that it takes none, recordings if it says that it does."""
    able = modalities_of(model)
    return able if (model.profile or {}).get("image_inputs") is False else able | {"image"}


def _tell(media: Media, cause: str) -> None:
    """Say that the model was of no use; the turn goes on with what came along."""
    media_summary_fallbacks.labels(cause).inc()
    logger.warning("media_summary_failed modality=%s cause=%s", media.modality, cause)


def _repeats(summary: str, transcript: str) -> bool:
    """Whether the transcript, or a sentence of it, stands in the summary, whatever its case and punctuation."""
    told = _folded(summary)
    long = [each for each in sentences(transcript) if count_words(each) >= TOLD_WORDS]
    return any(said in told for said in map(_folded, [transcript, *long]) if said)


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
