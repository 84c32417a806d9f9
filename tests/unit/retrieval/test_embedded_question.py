"""Names are left out of what is embedded of a question."""

from __future__ import annotations

import pytest

from discreet.retrieval.embedded_question import embedded_question


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Caroline go to the park?", "When did go to the park?"),
        ("What is Melanie's favourite book?", "What is favourite book?"),
        ("Куда Катя ездила летом?", "Куда ездила летом?"),
        ("Hôm qua Lan nói gì về công việc?", "Hôm qua nói gì về công việc?"),
        ("Is she ill? When did Tom call?", "Is she ill? When did call?"),
    ],
)
def test_a_name_within_a_sentence_is_left_out(question, expected):
    assert embedded_question(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Where do I live?",
        "Caroline went where?",
        "what did anna say about the trip",
        "卡罗琳什么时候去了公园？",
        "Who is Anna?",
        "Who Is My Dentist And Where Does He Work?",
        "What does NASA do, and what do I'm afraid of?",
        "Ann. Bob. Eve.",
    ],
)
def test_what_has_no_such_name_or_little_besides_stays(question):
    assert embedded_question(question) == question


@pytest.mark.parametrize(
    "question", ["A" * 5_000, "Aa " * 2_000, "x. " * 2_000, "\x00\ud800 Tom said so to me", "(" * 3_000]
)
def test_any_text_is_taken(question):
    assert isinstance(embedded_question(question), str)
