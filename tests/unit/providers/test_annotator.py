import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from discreet.ports import AnnotatedTurn, SpokenRound
from discreet.providers.annotator import RuleAnnotator, locale_of, may_be_emergency
from discreet.providers.summaries import ExtractiveSummaryProvider

SETS = tomllib.loads(Path(__file__).with_name("emergency_sets.toml").read_text(encoding="utf-8"))
TOLD = [(text, answer == "yes") for each in SETS.values() for answer, texts in each.items() for text in texts]


@pytest.mark.parametrize(("text", "told"), TOLD, ids=[text[:30] for text, _ in TOLD])
def test_an_emergency_is_told_from_what_only_sounds_like_one(text, told):
    assert may_be_emergency(text) is told


def test_an_emergency_is_heard_in_another_language_than_the_rest_and_across_lines():
    assert may_be_emergency("Hello! Меня зовут Анна. I can't\nbreathe, помогите")


def test_the_list_repeats_only_letters_of_a_word_so_that_the_work_grows_as_the_text_does():
    lists = tomllib.loads(files("discreet.providers").joinpath("emergencies.toml").read_text(encoding="utf-8"))
    phrases = [phrase for language in lists.values() for phrase in language]
    assert [phrase for phrase in phrases if re.search(r"(?<!\\w)[*+{]|\\w[*+]\\w", phrase)] == []


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("What do parrots eat?", "en"),
        ("We met in a café in Lyon", "en"),
        ("Tôi nuôi hai con vẹt", "vi"),
        ("Что едят попугаи?", "ru"),
        ("鹦鹉吃什么？", "zh"),
        ("東京に住んでいます", "ja"),
        ("안녕하세요", "ko"),
        ("Я живу в Києві", None),
        ("Quel temps fait-il à Paris, mon très cher ami ?", None),
        ("4711", None),
        ("<EMAIL:A2B3C4D5>", None),
        ("", None),
    ],
)
def test_the_locale_is_that_of_the_words_if_they_tell_one(text, locale):
    assert locale_of(text) == locale


async def annotate(said="And tomorrow?", **values):
    return await RuleAnnotator().annotate(AnnotatedTurn(said=said, answered="Yes.", **values))


async def test_what_the_caller_says_of_a_recording_goes_before_its_letters():
    media = [{"mime": "audio/ogg"}, {"mime": "audio/ogg", "language": "pt-BR"}]
    assert (await annotate(media=media)).locale == "pt-BR"
    assert (await annotate(media=[{"language": "not a tag"}])).locale == "en"


@pytest.mark.parametrize(
    ("said", "intent"),
    [
        ("Hi there! I would like to book a table for two.", "like book table two"),
        ("Xin chào! Tôi muốn đặt vé máy bay.", "muốn đặt vé máy bay"),
        ("Привет! Нужно перенести встречу с врачом.", "Нужно перенести встречу врачом"),
        ("你好！我想订去河内的机票。", "想订去河内 机票"),
        ("Hello!", None),
        ("Write to <EMAIL:A2B3C4D5>", "Write"),
    ],
)
async def test_the_intent_is_the_first_topic_of_what_was_said(said, intent):
    assert (await annotate(said)).intent == intent


async def test_the_intent_stays_that_of_the_first_round_with_a_topic():
    earlier = [SpokenRound(said=said, answered="Yes.") for said in ("Hello!", "I keep two parrots", "Is it late?")]
    assert (await annotate(earlier=earlier)).intent == "keep two parrots"


@pytest.mark.parametrize("summary", ["The user plans a trip to Hue. They keep parrots.", None])
async def test_the_intent_is_the_first_topic_of_the_summary(summary):
    spoken = SpokenRound(said="I plan a trip to Hue in spring.", answered="Noted.")
    summary = summary or await ExtractiveSummaryProvider().summarize([spoken])
    noted = await annotate(summary=summary, earlier=[SpokenRound(said="I keep two parrots", answered="Nice.")])
    assert noted.intent.endswith(("plans trip Hue", "plan trip Hue spring"))
