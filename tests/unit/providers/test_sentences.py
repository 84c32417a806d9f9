import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.providers.sentences import shortened
from discreet.state.text import sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Version 3.5 of a.b@c.d is out. Good.", ["Version 3.5 of a.b@c.d is out.", "Good."]),
        ("我叫王芳。对花生过敏！明天呢？", ["我叫王芳。", "对花生过敏！", "明天呢？"]),
        ("Tôi tên Lan… Còn bạn?", ["Tôi tên Lan…", "Còn bạn?"]),
        ("Она сказала: «Да!» Потом ушла.", ["Она сказала: «Да!»", "Потом ушла."]),
        ("a line\nanother", ["a line", "another"]),
        ("“I have a cat” “I live in Hue”", ["“I have a cat”", "“I live in Hue”"]),
        (" \n ", []),
    ],
)
def test_a_text_is_cut_where_its_sentences_end(text, parts):
    assert sentences(text) == parts


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("One. Two. Three.", 100, "One. Two. Three."),
        ("One. Two. Three.", 9, "One. Two."),
        ("我叫王芳。我对花生过敏。", 6, "我叫王芳。"),
        ("one two three four", 10, "one two…"),
        ("我叫王芳我对花生过敏", 5, "我叫王芳…"),
        ("mail <EMAIL:7K2QX3MD> now", 15, "mail…"),
        ("mail <EMAIL:7K2QX3MD> now", 23, "mail <EMAIL:7K2QX3MD>…"),
        ("word", 0, ""),
    ],
)
def test_what_is_too_long_ends_with_a_sentence_else_with_a_word(text, limit, kept):
    assert shortened(text, lambda part: len(part) <= limit) == kept


@given(st.text(st.sampled_from("ab .!?…。，我叫<>:AK2\n”"), max_size=200), st.integers(0, 100))
def test_it_always_fits_and_is_the_beginning(text, limit):
    kept = shortened(text, lambda part: len(part) <= limit)
    assert len(kept) <= limit
    assert text.strip().startswith(kept) or text.strip().startswith(kept.removesuffix("…"))
