import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.ports import SpokenRound
from discreet.providers.extractive import ExtractiveSummaryProvider
from discreet.providers.tokens import count_tokens


def rounds(*pairs):
    return [SpokenRound(said=said, answered=answered) for said, answered in pairs]


async def summarize(*pairs, earlier="", max_tokens=200):
    return await ExtractiveSummaryProvider().summarize(rounds(*pairs), earlier=earlier, max_tokens=max_tokens)


@pytest.mark.parametrize(
    ("said", "answered", "summary"),
    [
        (
            "Hello! I keep two parrots.",
            "Lovely. I have booked the vet for Tuesday. Parrots like fruit.",
            "User said (→ answered): “I keep two parrots.” → “I have booked the vet for Tuesday.”",
        ),
        (
            "Chào bạn! Tôi tên Lan, bị dị ứng đậu phộng.",
            "Vâng, tôi đã đặt bàn lúc 7 giờ tối thứ Sáu. Chúc vui!",
            (
                "Người dùng nói (→ trả lời): “Tôi tên Lan, bị dị ứng đậu phộng.” "
                "→ “Vâng, tôi đã đặt bàn lúc 7 giờ tối thứ Sáu.”"
            ),
        ),
        (
            "Привет! Я живу в Казани и работаю врачом.",
            "Записал вас на вторник в 10:00. Рад помочь.",
            "Пользователь сказал (→ ответ): “Я живу в Казани и работаю врачом.” → “Записал вас на вторник в 10:00.”",
        ),
        (
            "你好！我叫王芳，对花生过敏。",
            "好的，已经预订周五晚上七点。祝好。",
            "用户说（→ 回答）： “我叫王芳，对花生过敏。” → “好的，已经预订周五晚上七点。”",
        ),
    ],
)
async def test_it_quotes_what_the_user_stated_and_what_was_settled(said, answered, summary):
    assert await summarize((said, answered)) == summary


async def test_statements_come_before_questions_when_there_is_no_room_for_both():
    said = [("What might a hungry green parrot possibly eat for breakfast?", ""), ("I am a nurse from Hue.", "")]
    assert "breakfast" not in await summarize(*said, max_tokens=25)
    assert "nurse" in await summarize(*said, max_tokens=25)


async def test_what_is_to_be_forgotten_is_not_repeated():
    assert "Hanoi" not in await summarize(
        ("Forget that I lived in Hanoi.", "Done."), ("I like green tea a lot.", "Ok.")
    )


async def test_an_answer_that_settles_nothing_and_a_greeting_are_left_out():
    assert await summarize(("Hi there!", "Hello! How can I help you with your parrots today?")) == ""


async def test_what_stands_in_the_earlier_summary_is_not_said_again():
    first = await summarize(("I keep two grey parrots.", "Nice."))
    assert await summarize(("I keep two grey parrots.", "As you said."), earlier=first) == ""
    second = await summarize(("I live in Hue with my sister.", "Nice."), earlier=first)
    assert second == "“I live in Hue with my sister.”"  # the heading stands above it


ALMOST_THE_SAME = [
    ("My son is allergic to nuts.", "My daughter is allergic to nuts."),
    ("I live in Hanoi.", "I live in Berlin now."),
    ("I paid 20 euros for dinner.", "I paid 35 euros for dinner."),
    ("I was born on 3.5.", "I was born on 5.3."),
    ("Do not call me on Monday.", "Do call me on Monday."),
    ("I fly from Hue to Hanoi.", "I fly from Hanoi to Hue."),
    ("Я живу в Ханое.", "Я живу в Берлине."),
    ("Я люблю рыбу.", "Я не люблю рыбу."),
    ("Tôi thích cá.", "Tôi không thích cá."),
    ("我住在河内。", "我住在柏林。"),
    ("我喜欢吃鱼。", "我不喜欢吃鱼。"),
]
"""An older statement and a newer one, which differ in a word or in the order of their words."""

OTHERS = ("I keep two grey parrots called Ana and Bo.", "My sister works as a nurse in Lagos.")


@pytest.mark.parametrize("said", ALMOST_THE_SAME)
async def test_what_differs_in_one_word_is_told_where_there_is_room(said):
    older, newer = said
    among = [(each, "Fine.") for each in (older, *OTHERS, newer)]
    first = await summarize((older, "Fine."))
    provider = ExtractiveSummaryProvider()
    for summary in (
        await summarize(*among),
        first + await summarize((newer, "Fine."), earlier=first, max_tokens=50),
        await provider.summarize((), earlier=f"{first} {await summarize((newer, 'Fine.'))}"),
        provider.brief(" ".join((older, *OTHERS, newer)), 200),
    ):
        assert older.rstrip(".。") in summary
        assert newer.rstrip(".。") in summary


@pytest.mark.parametrize("said", ALMOST_THE_SAME)
async def test_where_there_is_room_for_one_the_newer_is_told(said):
    older, newer = [await summarize((each, "Fine.")) for each in said]
    room = max(count_tokens(older), count_tokens(newer))
    assert await summarize(*((each, "Fine.") for each in said), max_tokens=room) == newer


async def test_what_says_little_new_comes_after_what_is_new():
    friends = [(f"My friend {name} likes tea.", "Fine.") for name in ("Anna", "Boris", "Clara", "David")]
    room = 50
    summary = await summarize(*friends, *((each, "Fine.") for each in OTHERS), max_tokens=room)
    assert all(other in summary for other in OTHERS)
    assert "David" in summary
    assert "Anna" not in summary
    assert count_tokens(summary) > room - 12  # the room that was left is used


async def test_what_is_true_again_is_told_again():
    moves = [(f"I live in {place}.", "Fine.") for place in ("Hanoi", "Berlin", "Hanoi")]
    assert await summarize(*moves) == "User said (→ answered): “I live in Berlin.” “I live in Hanoi.”"
    earlier = await summarize(*moves[:2])
    assert await summarize(moves[2], earlier=earlier) == "“I live in Hanoi.”"
    assert await summarize(moves[1], earlier=earlier) == ""


async def test_a_question_takes_no_statements_place():
    said = [("I live in Berlin.", ""), ("Where in Berlin do I live?", "")]
    assert await summarize(*said, max_tokens=14) == "User said (→ answered): “I live in Berlin.”"


async def test_the_whole_is_shortened_to_its_most_telling_statements():
    text = await summarize(
        ("I keep two grey parrots called Ana and Bo.", ""), ("Lovely day to sit outside, I guess.", "")
    )
    provider = ExtractiveSummaryProvider()
    shorter = await provider.summarize((), earlier=text, max_tokens=24)
    assert "parrots" in shorter
    assert "Lovely" not in shorter
    assert shorter.startswith("User said")


async def test_the_words_of_a_model_are_not_passed_off_as_quotations():
    provider = ExtractiveSummaryProvider()
    shorter = await provider.summarize((), earlier="The user keeps two parrots. They moved to Hue.", max_tokens=60)
    assert shorter.endswith("The user keeps two parrots. They moved to Hue.")


async def test_a_long_sentence_is_quoted_by_its_first_clauses_and_says_so():
    said = "I moved to Hue in March because of my new job, " + "and then so many other things happened to us " * 6
    assert "“I moved to Hue in March because of my new job…”" in await summarize((said, ""))


async def test_placeholders_stay_whole():
    said = "Please note that my address for letters is <EMAIL:7K2QX3MD>"
    assert "<EMAIL:7K2QX3MD>" in await summarize((said, "Noted."))


texts = st.text(st.sampled_from("abc I am я был 我有 là. ,!?“”→\n123<EMAIL>"), max_size=120)


@given(st.lists(st.tuples(texts, texts), max_size=6), texts, st.integers(0, 80))
async def test_it_fits_and_is_the_same_every_time(pairs, earlier, max_tokens):
    first = await summarize(*pairs, earlier=earlier, max_tokens=max_tokens)
    assert count_tokens(first) <= max_tokens
    assert await summarize(*pairs, earlier=earlier, max_tokens=max_tokens) == first


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
async def test_every_quotation_was_said(pairs):
    def plain(text):
        return " ".join(text.replace("“", '"').replace("”", '"').split())

    everything = plain(" ".join(text for pair in pairs for text in pair))
    for quoted in (await summarize(*pairs)).split("“")[1:]:
        assert plain(quoted.partition("”")[0].removesuffix("…")) in everything
