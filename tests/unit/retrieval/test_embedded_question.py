"""Names are left out of what is embedded of a question."""

from __future__ import annotations

import pytest

from discreet.retrieval.embedded_question import embedded_question


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("When did Caroline go to the support group?", "When did go to the support group?"),
        ("What did Melanie paint with Caroline that summer?", "What did paint with that summer?"),
        ("What is Jon's favourite style of dance?", "What is favourite style of dance?"),
        ("What is Jon\N{RIGHT SINGLE QUOTATION MARK}s favourite style of dance?", "What is favourite style of dance?"),
        ("Who plays chess, Anna or Mary Ann?", "Who plays chess, or?"),
        ("Melanie moved house. Where did Melanie move to?", "Melanie moved house. Where did move to?"),
    ],
)
def test_names_are_left_out(text: str, left: str) -> None:
    assert embedded_question(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "what did caroline paint?",
        "Caroline?",
        "What about Caroline?",
        "Who is Caroline's sister?",  # one token would be left
        "WHERE DID CAROLINE LIVE IN SPRING?",
        "Where do I stay in Lisbon?",
        "When did Caroline call me?",
        "What should we bring to Caroline's party?",
        "Describe the house that Wren bought.",
        "Gap khach Tay thi minh giao tiep duoc khong?",
        "Chồng của Colleen là người nước nào?",
        "Сколько лет Ксюша работает на скорой?",
        "佩雯在哪里工作？",
    ],
)
def test_everything_else_is_embedded_as_it_is(text: str) -> None:
    assert embedded_question(text) == text


def test_a_capital_that_stands_where_a_sentence_begins_is_no_name() -> None:
    assert embedded_question('Who said "Never give up" to the coach?') == 'Who said "Never give up" to the coach?'
    assert embedded_question("Pets: Which dogs live there?") == "Pets: Which dogs live there?"


def test_a_long_text_takes_no_time() -> None:
    assert embedded_question("What did Caroline say? " * 10_000).count("Caroline") == 0
