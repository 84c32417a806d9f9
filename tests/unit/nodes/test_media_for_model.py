"""What the chat model gets of a message with media, and how its summaries are made."""

import asyncio
import base64
import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai.chat_models.base import _format_message_content

from discreet.errors import EmptyInputError, InputError, MediaSummaryUnavailableError, ProviderError
from discreet.metrics import media_summary_fallbacks
from discreet.nodes import media as media_node
from discreet.nodes.media import for_model, split_message, summarize_all, with_summaries
from discreet.providers.media import ChatModelSummarizer
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
    assert for_model("Hello", BOTH, "x") == "Hello"
    assert for_model(["Hello", {"type": "text", "text": "there"}], ()) == "Hello\nthere"


@pytest.mark.parametrize(
    ("block", "able", "given"),
    [
        ({**IMAGE, **EXTRA}, BOTH, [IMAGE]),
        ({**VOICE, **EXTRA}, BOTH, [VOICE]),
        ({**IMAGE, **EXTRA}, ("voice",), "[image] A kettle."),
        ({**IMAGE, "caption": "A red kettle."}, ("image",), [{"type": "text", "text": "[image caption] A red kettle."}, IMAGE]),
        ({**IMAGE, "caption": "A red kettle."}, (), "[image caption] A red kettle."),
        ({**VOICE, "transcript": "Hello there."}, (), "[voice transcript] Hello there."),
        ({**VOICE, "transcript": " "}, (), "[voice] A kettle."),
        ({**VOICE, "transcript": ["x"]}, (), "[voice] A kettle."),
        ({"type": "image", "base64": PNG}, BOTH, [IMAGE]),
        ({"type": "image", "base64": PNG, "mime": "image/png"}, BOTH, [IMAGE]),
        ({"type": "image", "file_id": "f-1", **EXTRA}, BOTH, [{"type": "image", "file_id": "f-1"}]),
        ({"type": "image_url", "image_url": {"url": "https://h/x"}, **EXTRA}, BOTH, [{"type": "image", "url": "https://h/x"}]),
        ({"type": "audio", "url": "https://h/x", "transcript": "Hi."}, BOTH, "[voice transcript] Hi."),
        ({"type": "audio", "url": "https://h/x"}, BOTH, "[voice] A kettle."),
        ({"type": "image", "sha256": "0" * 64}, BOTH, "[image] A kettle."),
    ],
)  # fmt: skip
def test_the_model_gets_what_it_takes_and_else_words(block, able, given):
    found = for_model([block], able, "A kettle.")
    assert found == given
    assert "planted" not in json.dumps(found)


def test_a_message_keeps_its_order():
    blocks = ["Look:", {**IMAGE, "caption": "A."}, "and listen:", VOICE]
    assert for_model(blocks, ("image",), "A song.") == [
        {"type": "text", "text": "Look:"},
        {"type": "text", "text": "[image caption] A."},
        IMAGE,
        {"type": "text", "text": "and listen:"},
        {"type": "text", "text": "[voice] A song."},
    ]


def test_the_summary_of_the_message_stands_once():
    assert for_model([IMAGE, IMAGE], (), "Two kettles.") == "[image] Two kettles."


def test_each_medium_has_its_own_summary_in_the_vault():
    message = HumanMessage(["Look:", {**IMAGE, "summary": "A long one."}, VOICE], id="m1")
    kept = with_summaries(message, ["A kettle.", "A song."])
    assert kept.id == "m1"
    assert for_model(kept.content, ()) == "Look:\n[image] A kettle.\n[voice] A song."
    assert for_model(kept.content, BOTH) == [{"type": "text", "text": "Look:"}, IMAGE, VOICE]
    assert for_model(json.loads(json.dumps(kept.content)), BOTH) == for_model(kept.content, BOTH)


def test_what_is_made_goes_through_langchains_openai_client():
    parts = for_model([{**IMAGE, **EXTRA, "caption": "A."}, {**VOICE, "mime_type": "audio/wav"}], BOTH)
    sent = _format_message_content(parts)
    assert [part["type"] for part in sent] == ["text", "image_url", "input_audio"]
    assert sent[2]["input_audio"] == {"data": OGG, "format": "wav"}


def media_of(*blocks):
    return split_message(HumanMessage(list(blocks)), max_bytes=1_000)[1]


async def test_several_media_are_summarised_at_once():
    met = asyncio.Barrier(3)

    class Meets:
        async def summarize(self, media):
            await met.wait()
            return f"{media.given} seen."

    media = media_of(*({**IMAGE, "caption": str(number)} for number in range(3)))
    assert await summarize_all(media, Meets()) == ["0 seen.", "1 seen.", "2 seen."]
    assert await summarize_all([], Meets()) == []


async def test_a_summarizer_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(media_node, "SUMMARY_SECONDS", 0.01)

    class Hangs:
        async def summarize(self, media):
            await asyncio.Event().wait()

    before = media_summary_fallbacks.labels("TimeoutError")._value.get()
    assert await summarize_all(media_of({**VOICE, "transcript": "Um, hello."}), Hangs()) == [
        "Recording (words: 2): hello"
    ]
    assert media_summary_fallbacks.labels("TimeoutError")._value.get() == before + 1


@pytest.mark.parametrize("error", [OSError("planted"), ProviderError("planted"), MediaSummaryUnavailableError()])
async def test_a_summarizer_that_fails_costs_the_model_and_not_the_words(error, caplog):
    class Fails:
        async def summarize(self, media):
            raise error

    assert await summarize_all(media_of({**IMAGE, "caption": "A kettle."}), Fails()) == ["A kettle."]
    with pytest.raises(MediaSummaryUnavailableError):
        await summarize_all(media_of({**IMAGE, "caption": "A kettle."}, IMAGE), Fails())
    assert "planted" not in caplog.text


async def test_a_medium_that_can_not_be_summarised_gives_up_the_others():
    given_up = []

    class Slow:
        async def summarize(self, media):
            if media.modality == "image":
                raise EmptyInputError
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                given_up.append(media.modality)
                raise

    with pytest.raises(InputError):
        await summarize_all(media_of(VOICE, IMAGE), Slow())
    assert given_up == ["voice"]


async def test_whatever_a_summarizer_says_three_sentences_stay():
    class Talks:
        async def summarize(self, media):
            return "One. Two. Three. planted-four." + media.transcript

    assert await summarize_all(media_of({**VOICE, "transcript": "planted"}), Talks()) == ["One. Two. Three."]


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
    texts, media = split_message(HumanMessage(["Look", *blocks]), max_bytes=1_000)
    model = ScriptedChatModel(responses=[AIMessage("The user tells of a meal.")])
    by_model = await summarize_all(media, ChatModelSummarizer(model))
    by_rules = await summarize_all(media, ChatModelSummarizer(ScriptedChatModel(responses=[OSError()])))
    assert by_model == ["The user tells of a meal.", "A kettle. It boils. It is red."]
    assert by_rules == ["Recording (words: 13): again, ate, Bob, noon, met, soup", "A kettle. It boils. It is red."]
    kept = json.dumps([texts, by_model, by_rules, [item.meta for item in media]])
    assert [word for word in ("planted", OGG, PNG) if word in kept] == []
