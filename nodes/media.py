"""Read the media of a user's message: what is kept of them is a summary and metadata, never the payload nor the transcript."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import sys
from collections.abc import Collection, Mapping
from typing import Any, Final

from langchain_core.messages import HumanMessage

from discreet.errors import InputError, UnsupportedInputError
from discreet.metrics import media_summary_fallbacks
from discreet.nodes.media_blocks import Block, digest_of, mime_of, payload_bytes, standard_blocks
from discreet.ports import Media, MediaSummarizer
from discreet.ports.media import payload_of
from discreet.providers.media import GivenSummarizer
from discreet.state.media import MediaMeta, Modality, media_texts
from discreet.state.message_text import joined
from discreet.state.text import first_sentences, storable

logger = logging.getLogger(__name__)

LANGUAGE: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}")
"""A language tag (RFC 5646, section 2.1)."""

MODALITIES: Final[Mapping[str, Modality]] = {"audio": "voice", "image": "image"}

MAX_MEDIA: Final = 10
"""Of one message; each is a call of the model."""

MAX_TAGS: Final = 20
MAX_LABEL_CHARS: Final = 50
MAX_DURATION_MS: Final = 24 * 3_600_000
"""A day. A longer recording has no length here rather than an absurd one."""

SUMMARY_SECONDS: Final = 10.0
"""One summary takes this long at most: the answer is there, and the end of its turn waits; `ChatModelSummarizer` gives its model 8 s."""


def split_message(message: HumanMessage, *, max_bytes: int) -> tuple[list[str], list[Media]]:
    """Return the texts of `message` and its media.

    It hashes the payloads: run it in a thread where they are large.

    Raises:
        UnsupportedInputError: A block is neither text nor image nor audio, there are more than `MAX_MEDIA`, or a payload
            is broken or not what it is said to be.
        InputTooLargeError: The payloads together are over `max_bytes`.
    """
    texts: list[str] = []
    media: list[Media] = []
    used = 0
    for block in standard_blocks(message.content):
        modality = MODALITIES.get(str(block.get("type")))
        if block.get("type") == "text":
            if not isinstance(text := block.get("text") or "", str):
                raise UnsupportedInputError("The message has a text block whose text is no text. Send a string.")
            texts.append(text)
        elif modality is None:
            raise UnsupportedInputError(
                "The message has a content block that can't be taken. Send text, image or audio blocks."
            )
        elif len(media) == MAX_MEDIA:
            raise UnsupportedInputError(f"The message has more than {MAX_MEDIA} media. Send fewer at a time.")
        else:
            payload = payload_bytes(block, max_bytes=max_bytes, used=used)
            used += len(payload or b"")
            media.append(_media(block, modality, payload))
    return [text for text in texts if text], media


async def with_summaries(message: HumanMessage, summarizer: MediaSummarizer | None = None) -> HumanMessage:
    """Return `message` with a summary in the block of each medium that has none, as far as somebody says it; itself if nobody does.

    `summarizer` is asked, all media at once, for `SUMMARY_SECONDS` at most. Where it fails, or there is none, a transcript is told by its
    length and topics.
    """
    try:
        _, media = await asyncio.to_thread(split_message, message, max_bytes=sys.maxsize)
    except InputError:
        return message
    waiting = iter(await asyncio.gather(*(_summary(each, summarizer) for each in media)))
    blocks = [
        _summarised(block, next(waiting)) if standard.get("type") in MODALITIES else block
        for block, standard in zip(message.content, standard_blocks(message.content), strict=True)
    ]
    return message if blocks == message.content else message.model_copy(update={"content": blocks})


def _summarised(block: Any, summary: str) -> Any:
    return {**block, "summary": summary} if summary and isinstance(block, dict) else block


def for_model(content: str | list[Any], able: Collection[Modality]) -> str | list[Block]:
    """Return what the chat model gets of the user's original message while its turn runs.

    Text stays. A transcript or caption that came along is a text marked `[voice transcript]` or `[image caption]`. A
    payload goes as it came, without anything that providers do not know, if the model is `able` to take it; else the
    words, and without those what stands for the medium. A recording by URL goes as words too, since few providers take it.

    Args:
        content: Of the user's message.
        able: What the model takes, see `discreet.providers.media.modalities_of`.
    """
    if isinstance(content, str):
        return content
    parts: list[Block] = []
    for block in standard_blocks(content):
        modality = MODALITIES.get(str(block.get("type")))
        if modality is not None:
            parts += _for_model(block, modality, able)
        elif block.get("type") == "text" and block.get("text"):
            parts.append(_text(str(block["text"])))
    if all(part["type"] == "text" for part in parts):
        return joined(part["text"] for part in parts)
    return parts


def _for_model(block: Block, modality: Modality, able: Collection[Modality]) -> list[Block]:
    words = [
        _text(f"[{modality} {what}] {text}") for what in ("transcript", "caption") if (text := _words(block, what))
    ]
    payload = payload_of({**block, "mime_type": mime_of(block, modality, checked=False)}) if modality in able else None
    if payload is not None and not (modality == "voice" and "url" in payload):
        return [*words, payload]
    return words or [_text(each) for each in media_texts([block])]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _words(block: Mapping[str, Any], key: str) -> str | None:
    """Return the text that came along under `key`, None if it is blank."""
    found = block.get(key)
    return found if isinstance(found, str) and found.strip() else None


def _media(block: Block, modality: Modality, payload: bytes | None) -> Media:
    given, transcript = _words(block, "summary") or _words(block, "caption"), _words(block, "transcript")
    if given and transcript and given.split() == transcript.split():
        given = None
    block = {**block, "mime_type": mime_of(block, modality)}
    return Media(
        modality=modality, meta=_meta(block, modality, payload), block=block, given=given, transcript=transcript
    )


def _meta(block: Block, modality: Modality, payload: bytes | None) -> MediaMeta:
    """Return what may be kept. What has not the form it should have is left out: it could hold anything."""
    meta = MediaMeta(modality=modality)
    if mime := block["mime_type"]:
        meta["mime"] = mime
    language = block.get("language")
    if isinstance(language, str) and LANGUAGE.fullmatch(language):
        meta["language"] = language
    if (duration := _milliseconds(block.get("durationMs", block.get("duration_ms")))) is not None:
        meta["durationMs"] = duration
    if digest := digest_of(payload, block.get("sha256")):
        meta["sha256"] = digest
    kinds = _labels([block.get("imageType", block.get("image_type"))])
    if modality == "image" and kinds:
        meta["imageType"] = kinds[0]
    if tags := _labels(block.get("tags")):
        meta["tags"] = tags
    return meta


def _milliseconds(said: object) -> int | None:
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= MAX_DURATION_MS:
        return None
    return round(said) if math.isfinite(said) else None


def _labels(said: object) -> list[str]:
    """Return the first short texts of a list, each once."""
    if not isinstance(said, list | tuple):
        return []
    texts = [" ".join(storable(item).split()) for item in said if isinstance(item, str)]
    return [text for text in dict.fromkeys(texts) if 0 < len(text) <= MAX_LABEL_CHARS][:MAX_TAGS]


async def _summary(media: Media, summarizer: MediaSummarizer | None) -> str:
    """Return what is to be noted of a medium; empty if it came with a summary, or there is nothing to tell."""
    if media.given:
        return ""
    given, summary = GivenSummarizer(), ""
    try:
        async with asyncio.timeout(SUMMARY_SECONDS):
            summary = first_sentences(await (summarizer or given).summarize(media))
    except InputError:
        return ""
    except Exception as error:  # noqa: BLE001  # a summarizer of the user's own; what came along is not lost
        cause = type(error).__name__
        media_summary_fallbacks.labels(cause).inc()
        logger.warning("media_summary_failed modality=%s cause=%s", media.modality, cause)
    return summary or (await given.summarize(media) if media.transcript else "")
