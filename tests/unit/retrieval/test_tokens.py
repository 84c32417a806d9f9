"""What a text is found by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.retrieval.tokens import MAX_TOKEN_CHARS, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The parrots' cages", ["parrot", "cage"]),
        ("Caroline’s parrot", ["carolin", "parrot"]),
        ("живут попугаи", ["живут", "попуга"]),
        ("ёлка", ["елк"]),
        ("白猫", ["白", "猫", "白猫"]),
        ("猫", ["猫"]),
        ("con vẹt", ["con", "vẹt", "vet", "con vẹt"]),
        ("con vet", ["con", "vet"]),
        ("ＦＵＬＬ width", ["full", "width"]),
        ("2023-05-08", ["2023", "05", "08"]),
        ("नमस्ते", ["नमस्ते"]),
        ("foo_bar", ["foo", "bar"]),
        ("<EMAIL>", ["email"]),
        ("?! …", []),
    ],
)
def test_tokens_by_language(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("Which parrots do I keep?", "Keeps a parrot"),
        ("Где живут мои попугаи?", "Попугай живёт на кухне"),
        ("我的猫叫什么名字？", "我养了一只猫，叫小白"),
        ("Tôi dị ứng với gì?", "Bị dị ứng đậu phộng"),
        ("What is my кличка?", "Кличка собаки: Rex"),
    ],
)
def test_a_question_shares_a_token_with_its_memory(question, memory):
    assert set(tokens(question)) & set(tokens(memory))


def test_common_words_find_nothing():
    assert tokens("What is it that you have, and why?") == []
    assert tokens("Что это такое?") == []


def test_a_long_run_is_cut():
    assert tokens("x" * 1_000_000) == ["x" * MAX_TOKEN_CHARS]


@given(st.text())
def test_any_text_has_tokens_that_can_be_stored(text):
    for token in tokens(text.encode("utf-8", "replace").decode()):
        assert token
        token.encode()


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_texts_are_cut_like_all_others(text):
    assert tokens(text) == tokens(f"{text} …")  # a dot that is no word, and not ASCII


def test_vietnamese_typed_without_marks_meets_the_same_syllables():
    said = tokens("Tôi dị ứng đậu phộng")
    assert set(tokens("di ung dau phong")) <= set(said)
    assert "to" not in said  # which is a stop word of English
