"""Days, months and years that a question names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.retrieval.dates import named_dates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Between March 2023 and the 8th of May", {3, 5}),
        ("in may", {5}),
        ("7 May, 2022", {5}),
        ("June 2023", {6}),
        ("Sept. or DEC", {9, 12}),
        ("in February", {2}),
        ("Что было в мае?", {5}),
        ("с января по март", {1, 3}),
        ("декабрь 2023 года", {12}),
        ("tháng năm", {5}),
        ("tháng mười một", {11}),
        ("tháng mười hai và tháng mười", {10, 12}),
        ("tháng 4", {4}),
        ("Tha\u0301ng ba", {3}),
        ("五月", {5}),
        ("十一月", {11}),
        ("2023年5月8日", {5}),
        ("５月", {5}),
        ("2023-05-08", {5}),
        ("08.05.2023", {5}),
        ("2023/12", {12}),
    ],
)
def test_months_are_read(text, expected):
    assert named_dates(text).months == expected


@pytest.mark.parametrize(
    "text",
    [
        "May I march?",
        "The marching band may decide",
        "Augustus the maybe",
        "маяк и Мартин, майор",
        "三个月",
        "tháng 13",
        "2023-13-01",
        "12345-05",
        "3 months",
        "",
    ],
)
def test_other_words_are_no_months(text):
    assert named_dates(text).months == set()


@pytest.mark.parametrize(("text", "expected"), [("in 2023", {2023}), ("2022/2023年", {2022, 2023}), ("120235", set())])
def test_years_are_read(text, expected):
    assert named_dates(text).years == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 8 May, 2023", {8}),
        ("on the 8th of May", {8}),
        ("on May 8", {8}),
        ("March the 3rd", {3}),
        ("October 13, 2023", {13}),
        ("8 мая", {8}),
        ("ngày 30 tháng 5", {30}),
        ("5月8日", {8}),
        ("2023-05-08", {8}),
        ("08.05.2023", {8}),
        ("in May 2023", set()),
        ("8 people in May", set()),
        ("in May, 7:30", set()),
        ("May 45", set()),
        ("8 o'clock", set()),
    ],
)
def test_a_day_is_read_beside_its_month(text, expected):
    assert named_dates(text).days == expected


@given(st.text())
def test_any_text_is_read(text):
    days, months, years = named_dates(text)
    assert days <= set(range(1, 32))
    assert months <= set(range(1, 13))
    assert all(1900 <= year <= 2099 for year in years)
