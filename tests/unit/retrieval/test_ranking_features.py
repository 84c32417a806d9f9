"""What a memory is found by besides its words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from discreet.retrieval.ranking_features import marks_asked, marks_of
from discreet.retrieval.tokens import tokens

SAID = datetime(2023, 5, 8, tzinfo=UTC)


def shared(text, question, *, said=SAID):
    """Return the marks that a memory and a question have in common."""
    return set(marks_of(text, said)) & set(marks_asked(question, tokens(question)))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Caroline: I went to the lake", "Where did Caroline go?"),
        ("Caroline: I went to the lake", "where did caroline go?"),
        ("Dr. Lee: Take two a day", "What did doctor Lee say?"),
        ("Assistant: Try the one in Leeds", "What did the assistant recommend?"),
        ("Аня: Была на озере", "Куда ездила Аня?"),
        ("小明：我去了湖边", "小明去了哪里？"),
        ("Lan: Em đi chợ", "Lan đã đi đâu?"),
        ("Allergies: peanuts", "Do I have any allergies?"),
    ],
)
def test_a_question_meets_who_speaks(text, question):
    assert shared(text, question)


@pytest.mark.parametrize(
    "text",
    ["Caroline went to the lake", "I said to Caroline: no", "At 7:30 with Caroline", "https://caroline/", ":", ""],
)
def test_only_a_label_at_the_start_names_a_speaker(text):
    assert not shared(text, "Where is Caroline? At https caroline? I said so")


def test_a_label_of_several_words_counts_as_one():
    marks = marks_of("Mary Ann: Hello", SAID)
    assert sum(marks.values()) == pytest.approx(4)
    assert len(marks) == 5


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("On 8 May 2023?", 3),
        ("On 9 May?", 1),
        ("In May 2023?", 2),
        ("Last May?", 1),
        ("In 2023?", 1),
        ("In June 2022?", 0),
        ("When?", 0),
    ],
)
def test_a_question_meets_the_day_month_and_year_in_which_something_was_said(question, count):
    assert len(shared("Went to the lake", question)) == count


def test_months_are_those_of_utc():
    said = datetime(2023, 6, 1, 1, tzinfo=timezone(timedelta(hours=7)))
    assert shared("Went to the lake", "in May", said=said)
