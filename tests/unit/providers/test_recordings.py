import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from testkit.runs import runs_kept

from discreet.providers.recordings import count_words, describe_recording, topics_of

EN = "Um, my left knee hurts again since Monday. The knee hurts at night, and Doctor Miller said that I need an X-ray."
VI = "Ờ, đầu gối trái của em đau lại từ thứ Hai. Đầu gối đau ban đêm, và bác sĩ Minh nói em cần chụp phim."
RU = "Ну, левое колено снова болит с понедельника. Колено болит ночью, и доктор Петров сказал сделать снимок."
ZH = "嗯，我的左膝盖从星期一开始又疼了。膝盖晚上疼得厉害，李医生说需要拍片子检查。"


@pytest.mark.parametrize(
    ("transcript", "meta", "kept"),
    [
        (EN, {"durationMs": 80_000}, "Recording (1 min 20 s): again, Doctor, hurts, left, Monday, knee, night, since"),
        (
            VI,
            {"durationMs": 3_661_000},
            "Bản ghi âm (1 giờ 1 phút 1 giây): ban đêm, bác sĩ, cần chụp, Minh nói, thứ Hai, đau lại, đầu gối",
        ),
        (RU, {"durationMs": 400}, "Запись (1 с): болит, доктор, колено, ночью, левое, Петров, понедельника, снова"),
        (ZH, {"durationMs": 60_000}, "录音（1分）：厉害、子检、开始、拍片、星期、晚上、李医、膝盖"),
        (EN, {}, "Recording (words: 22): again, "),
        (VI, {}, "Bản ghi âm (25 từ): "),
        (RU, {"language": "ru-RU"}, "Запись (слов: 16): "),
        (ZH, {"language": "zh"}, "录音（34字）："),
        ("Meine Knie schmerzen.", {"language": "de"}, "Recording (words: 3): Knie"),
        ("Um.", {}, "Recording (words: 1)"),
        ("...", {}, "Recording (words: 0)"),
    ],
)
def test_length_and_topics_are_told_in_the_language_of_the_recording(transcript, meta, kept):
    assert describe_recording(transcript, "voice", meta).startswith(kept)


@pytest.mark.parametrize("transcript", [EN, VI, RU, ZH])
def test_no_run_of_words_is_told(transcript):
    kept = describe_recording(transcript, "voice", {})
    assert runs_kept(transcript, kept) == []


@pytest.mark.parametrize("transcript", [EN, RU, "My cat died yesterday.", "I like tea."])
def test_read_forwards_or_backwards_no_two_words_stand_as_they_were_said(transcript):
    topics = topics_of(transcript)
    for read in (topics, topics[::-1]):
        assert runs_kept(transcript, " ".join(read), words=2) == []


WORDS = st.sampled_from(
    [
        "knee",
        "hurts",
        "Monday",
        "doctor",
        "night",
        "colour",
        "red",
        "膝盖",
        "疼",
        "колено",
        "болит",
        "gối",
        "đau",
        "đầu",
        "và",
        "the",
        "1984",
        ".",
    ]
)


@example(
    words=["hurts", "hurts", "knee", "knee", "膝盖", "Monday", ".", "hurts", "hurts", "Monday", "疼", "疼"],
    gap=" ",
    in_syllables=True,
)
@example(
    words=[
        ".",
        "doctor",
        "doctor",
        "Monday",
        "Monday",
        "疼",
        "knee",
        "doctor",
        "hurts",
        "hurts",
        ".",
        "膝盖",
        ".",
        "Monday",
    ],
    gap=" ",
    in_syllables=True,
)
@given(words=st.lists(WORDS, max_size=30), gap=st.sampled_from(["", " "]), in_syllables=st.booleans())
def test_no_two_topics_stand_side_by_side_in_a_transcript(words, gap, in_syllables):
    transcript = gap.join(words) if gap else " ".join(words)
    topics = topics_of(transcript, in_syllables=in_syllables)
    assert len(topics) <= 8
    for read in (topics, topics[::-1]):
        assert runs_kept(transcript, " ".join(read)) == []


def test_values_and_numbers_are_no_topics():
    kept = topics_of("Write to <EMAIL> or <PHONE:7K2QX3MD>, the code is 4711 and hunter2.")
    assert kept == ["code", "Write"]


def test_chinese_is_counted_by_characters():
    assert count_words("我有 two parrots，好。") == 5
