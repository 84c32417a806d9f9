"""What the chat model gets of a message with media, and how its summaries are made."""

import asyncio
import base64
import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai.chat_models.base import _format_message_content

from discreet.errors import MediaSummaryUnavailableError, ProviderError
from discreet.metrics import media_summary_fallbacks
from discreet.nodes import media as media_node
from discreet.nodes.media import for_model, with_summaries
from discreet.providers.media import ChatModelSummarizer
from discreet.state.message_text import text_blocks
from discreet.testing import ScriptedChatModel

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n pixels").decode()
OGG = base64.b64encode(b"OggS sound").decode()
IMAGE = {"type": "image", "base64": PNG, "mime_type": "image/png"}
VOICE = {"type": "audio", "base64": OGG, "mime_type": "audio/ogg"}
EXTRA = {
    "sha256": "0" * 64,
    "filename": "planted-name.png",
    "extras": {"planted": 1},
    "tags": ["planted"],
    "id": "planted",
}
BOTH = ("image", "voice")


def test_plain_text_stays():
    assert for_model("Hello", BOTH) == "Hello"
    assert for_model(["Hello", {"type": "text", "text": "there"}], ()) == "Hello\nthere"


@pytest.mark.parametrize(
    ("block", "able", "given"),
    [
        ({**IMAGE, **EXTRA}, BOTH, [IMAGE]),
        ({**VOICE, **EXTRA}, BOTH, [VOICE]),
        ({**IMAGE, **EXTRA}, ("voice",), "[image/png, 15 B]"),
        ({**IMAGE, "summary": "A kettle."}, (), "[image] A kettle."),
        ({**IMAGE, "caption": "A red kettle."}, ("image",), [{"type": "text", "text": "[image caption] A red kettle."}, IMAGE]),
        ({**IMAGE, "caption": "A red kettle."}, (), "[image caption] A red kettle."),
        ({**VOICE, "transcript": "Hello there."}, (), "[voice transcript] Hello there."),
        ({**VOICE, "transcript": " "}, (), "[audio/ogg, 10 B]"),
        ({**VOICE, "transcript": ["x"]}, (), "[audio/ogg, 10 B]"),
        ({"type": "image", "base64": PNG}, BOTH, [IMAGE]),
        ({"type": "image", "base64": PNG, "mime": "image/png"}, BOTH, [IMAGE]),
        ({"type": "image", "file_id": "f-1", **EXTRA}, BOTH, [{"type": "image", "file_id": "f-1"}]),
        ({"type": "image_url", "image_url": {"url": "https://h/x"}, **EXTRA}, BOTH, [{"type": "image", "url": "https://h/x"}]),
        ({"type": "audio", "url": "https://h/x", "transcript": "Hi."}, BOTH, "[voice transcript] Hi."),
        ({"type": "audio", "url": "https://h/x"}, BOTH, "[audio]"),
        ({"type": "image", "sha256": "0" * 64}, BOTH, "[image]"),
    ],
)  # fmt: skip
def test_the_model_gets_what_it_takes_and_else_words(block, able, given):
    found = for_model([block], able)
    assert found == given
    assert "planted" not in json.dumps(found)


def test_a_message_keeps_its_order():
    blocks = ["Look:", {**IMAGE, "caption": "A."}, "and listen:", VOICE]
    assert for_model([*blocks[:3], {**VOICE, "summary": "A song."}], ("image",)) == [
        {"type": "text", "text": "Look:"},
        {"type": "text", "text": "[image caption] A."},
        IMAGE,
        {"type": "text", "text": "and listen:"},
        {"type": "text", "text": "[voice] A song."},
    ]


def test_what_is_made_goes_through_langchains_openai_client():
    parts = for_model([{**IMAGE, **EXTRA, "caption": "A."}, {**VOICE, "mime_type": "audio/wav"}], BOTH)
    sent = _format_message_content(parts)
    assert [part["type"] for part in sent] == ["text", "image_url", "input_audio"]
    assert sent[2]["input_audio"] == {"data": OGG, "format": "wav"}


class Says:
    """Says the same of each medium, or raises it."""

    def __init__(self, said):
        self.said = said

    async def summarize(self, media):
        if isinstance(self.said, Exception):
            raise self.said
        return f"{self.said} {media.transcript or media.modality}"


async def summaries(*blocks, summarizer=None):
    """Return the summary of each medium, None where it has none."""
    message = await with_summaries(HumanMessage(list(blocks), id="m1"), summarizer)
    assert message.id == "m1"
    return [block.get("summary") for block in message.content if isinstance(block, dict)]


async def test_each_medium_gets_a_summary_beside_its_payload():
    blocks = ["Look:", IMAGE, {"type": "image_url", "image_url": {"url": "https://h/x"}}, VOICE]
    message = await with_summaries(HumanMessage(blocks, id="m1"), Says("A"))
    assert message.content == [
        "Look:",
        {**IMAGE, "summary": "A image"},
        {**blocks[2], "summary": "A image"},
        {**VOICE, "summary": "A voice"},
    ]


async def test_what_came_with_a_summary_is_not_summarised():
    assert await summaries({**IMAGE, "caption": "A kettle."}, summarizer=Says("A")) == [None]
    assert await summaries(IMAGE) == [None]


async def test_several_media_are_summarised_at_once():
    met = asyncio.Barrier(3)

    class Meets:
        async def summarize(self, media):
            await met.wait()
            return "Seen."

    assert await summaries(IMAGE, IMAGE, VOICE, summarizer=Meets()) == ["Seen."] * 3


async def test_a_summarizer_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(media_node, "SUMMARY_SECONDS", 0.01)

    class Hangs:
        async def summarize(self, media):
            await asyncio.Event().wait()

    before = media_summary_fallbacks.labels("TimeoutError")._value.get()
    blocks = [{**VOICE, "transcript": "Um, hello."}, IMAGE]
    assert await summaries(*blocks, summarizer=Hangs()) == ["Recording (words: 2): hello", None]
    assert media_summary_fallbacks.labels("TimeoutError")._value.get() == before + 2


@pytest.mark.parametrize("error", [OSError("planted"), ProviderError("planted"), MediaSummaryUnavailableError()])
async def test_a_summarizer_that_fails_costs_the_summary_and_not_the_words(error, caplog):
    blocks = [{**VOICE, "transcript": "Um, hello."}, IMAGE]
    found = await summaries(*blocks, summarizer=Says(error))
    assert found[1] is None
    assert found[0] == (None if isinstance(error, MediaSummaryUnavailableError) else "Recording (words: 2): hello")
    assert "planted" not in caplog.text


async def test_whatever_a_summarizer_says_three_sentences_stay():
    class Talks:
        async def summarize(self, media):
            return "One. Two. Three. planted-four." + media.transcript

    assert await summaries({**VOICE, "transcript": "planted"}, summarizer=Talks()) == ["One. Two. Three."]


async def test_nothing_of_payload_words_or_names_is_kept():
    """With and without a model."""
    transcript = "We met at noon. We ate soup. We met Bob. We met again."
    caption = "A kettle. It boils. It is red. planted-caption of the fourth sentence."
    blocks = [
        {**VOICE, **EXTRA, "sha256": "", "transcript": transcript, "title": "planted-title"},
        {**IMAGE, **EXTRA, "sha256": "", "caption": caption, "alt": "planted-alt"},
    ]
    for block in blocks:
        del block["sha256"]
        block["tags"] = []
    model = ScriptedChatModel(responses=[AIMessage("The user tells of a meal.")])
    by_model, by_rules = [
        await with_summaries(HumanMessage(["Look", *blocks]), ChatModelSummarizer(each))
        for each in (model, ScriptedChatModel(responses=[OSError()]))
    ]
    image = "[image] A kettle. It boils. It is red."
    assert text_blocks(by_model.content) == ["Look", "[voice] The user tells of a meal.", image]
    topics = "[voice] Recording (words: 13): again, ate, Bob, noon, met, soup"
    assert text_blocks(by_rules.content) == ["Look", topics, image]
