import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.providers.extracts import MAX_SUMMARY_CHARS, extract


@pytest.mark.parametrize(
    ("transcript", "kept"),
    [
        ("I like tea.", "I like tea."),
        ("Um, I like, uh, tea. Ehm. Hmm.", "I like, tea. Ehm."),
        ("You know, my knee hurts. Do you know the way?", "my knee hurts. Do you know the way?"),
        ("Ờ, em bị đau đầu ừm từ hôm qua.", "em bị đau đầu từ hôm qua."),
        ("Ну, э-э, у меня болит колено. Диабет второго типа.", "у меня болит колено. Диабет второго типа."),
        ("嗯，我头疼。那个，从昨天开始。那个人是医生。", "我头疼。 从昨天开始。 那个人是医生。"),
        ("Um.", "Um."),
        ("...", "..."),
        (" \n ", ""),
        ("", ""),
    ],
)
def test_a_short_transcript_loses_its_filler(transcript, kept):
    assert extract(transcript) == kept


@pytest.mark.parametrize(
    ("transcript", "kept"),
    [
        ("One. Two. Three. planted.", "One. Two. Three."),
        (
            "It rained. My knee hurts. Bob called. The knee hurts at night. The knee is swollen.",
            "My knee hurts. The knee hurts at night. The knee is swollen.",
        ),
        ("下雨了。我的膝盖疼。小王来了。膝盖晚上疼。膝盖肿了。", "我的膝盖疼。 膝盖晚上疼。 膝盖肿了。"),
        (
            "Trời mưa. Em đau đầu gối. Nam gọi. Đầu gối đau ban đêm. Đầu gối sưng.",
            "Em đau đầu gối. Đầu gối đau ban đêm. Đầu gối sưng.",
        ),
        ("first line\nsecond line\nthird line\nfourth line", "first line second line third line"),
    ],
)
def test_of_a_longer_one_the_weightiest_sentences_stay_in_their_order(transcript, kept):
    assert extract(transcript) == kept


@pytest.mark.parametrize("word", ["word", "слово", "từ", "你"])
def test_what_has_no_full_stops_is_not_kept_whole(word):
    spoken = [f"{word}{number}" for number in range(100)]
    kept = extract(" ".join(spoken)).split()
    assert 0 < len(kept) < 70
    assert [word for word in spoken if word in kept] == kept


@given(
    st.lists(
        st.text(st.sampled_from("abcdefgh привет你好ờ"), min_size=1, max_size=30).filter(str.strip),
        min_size=4,
        max_size=12,
    )
)
def test_more_than_three_sentences_are_never_kept_whole(sentences):
    spoken = [f"{' '.join(text.split())}{number}" for number, text in enumerate(sentences)]
    kept = extract(". ".join(spoken) + ".")
    assert 1 <= len(re.findall(r"\d\.", kept)) <= 3
    assert len(kept) <= MAX_SUMMARY_CHARS


@given(st.text(max_size=400))
def test_any_text_gives_at_most_600_characters_of_itself(text):
    kept = extract(text)
    assert len(kept) <= MAX_SUMMARY_CHARS
    assert bool(kept) == bool(text.split())
    assert set(kept) <= set(text) | {" "}
