import pytest
from langchain_core.messages import AIMessage

from discreet.errors import MediaSummaryUnavailableError
from discreet.ports import Media
from discreet.providers.media import ChatModelSummarizer, GivenSummarizer, first_sentences
from discreet.testing import ScriptedChatModel

BLOCK = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}


def media(**options):
    return Media(**{"modality": "image", "meta": {"mime": "image/png"}, "block": BLOCK, **options})


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One. Two! Three? Four.", "One. Two! Three?"),
        ("一。二！三？四。", "一。 二！ 三？"),
        ("Một câu\nxuống dòng.", "Một câu xuống dòng."),
        ("x" * 1000, "x" * 600),
        ("  ", ""),
    ],
)
def test_a_summary_is_three_sentences_at_most(text, kept):
    assert first_sentences(text) == kept


async def test_words_sent_along_are_enough():
    assert await GivenSummarizer().summarize(media(given="A kettle. It boils.")) == "A kettle. It boils."


async def test_without_words_and_without_a_model_it_says_what_to_do():
    with pytest.raises(MediaSummaryUnavailableError, match="transcript or caption"):
        await GivenSummarizer().summarize(media())


async def test_a_multimodal_model_is_asked_with_the_payload():
    model = ScriptedChatModel(responses=[AIMessage("A kettle.")])
    summarizer = ChatModelSummarizer(model, modalities={"image"})
    assert await summarizer.summarize(media(meta={"language": "vi"})) == "A kettle."
    instruction, human = model.prompts[0]
    assert "one to three sentences" in instruction.text
    assert "`vi`" in instruction.text
    assert human.content == [BLOCK]


async def test_a_model_is_not_asked_about_what_it_can_not_take_or_need_not():
    model = ScriptedChatModel(responses=[])
    with pytest.raises(MediaSummaryUnavailableError):
        await ChatModelSummarizer(model).summarize(media())
    assert await ChatModelSummarizer(model, modalities={"image"}).summarize(media(given="A kettle.")) == "A kettle."
    assert model.prompts == []


async def test_an_empty_answer_is_no_summary():
    model = ScriptedChatModel(responses=[AIMessage(" ")])
    with pytest.raises(MediaSummaryUnavailableError):
        await ChatModelSummarizer(model, modalities={"image"}).summarize(media())
