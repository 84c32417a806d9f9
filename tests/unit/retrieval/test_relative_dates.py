"""Days, weeks, months and years that a text counts from when it was said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.retrieval.relative_dates import dated

WEDNESDAY = datetime(2026, 11, 25, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I sold my car yesterday", "I sold my car on 24 November 2026"),
        ("Yesterday morning I fell", "On 24 November 2026 in the morning I fell"),
        ("I quit the day before yesterday", "I quit on 23 November 2026"),
        ("My exam is tomorrow", "My exam is on 26 November 2026"),
        ("I am ill since yesterday", "I am ill since 24 November 2026"),
        ("We moved two years ago", "We moved in 2024"),
        ("I broke my arm 3 weeks ago", "I broke my arm around 4 November 2026"),
        ("a month ago I started", "in October 2026 I started"),
        ("We marry in two weeks", "We marry around 9 December 2026"),
        ("We fly in 10 days' time", "We fly on 5 December 2026"),
        ("I retire next year", "I retire in 2027"),
        ("I retire in March next year", "I retire in March 2027"),
        ("My trip is next month", "My trip is in December 2026"),
        ("My trip is next week", "My trip is in the week of 30 November 2026"),
        ("She came last weekend", "She came at the weekend of 21 November 2026"),
        ("I ran it last Friday", "I ran it on 20 November 2026"),
        ("My scan is on this Friday", "My scan is on 27 November 2026"),
        ("It is next Monday", "It is on 30 November 2026"),
        ("Я уволилась вчера", "Я уволилась 24.11.2026"),
        ("Позавчера родился сын", "23.11.2026 родился сын"),
        ("Мы переехали три года назад", "Мы переехали в 2023 году"),
        ("Переезжаем через месяц", "Переезжаем в декабре 2026 года"),
        ("Экзамен на следующей неделе", "Экзамен на неделе с 30.11.2026"),
        ("В прошлом месяце купила дом", "В октябре 2026 года купила дом"),
        ("Свадьба в мае следующего года", "Свадьба в мае 2027 года"),
        ("Был там в прошлую пятницу", "Был там 20.11.2026"),
        ("Hôm qua tôi nghỉ việc", "Ngày 24/11/2026 tôi nghỉ việc"),
        ("Tôi cưới tháng sau", "Tôi cưới tháng 12/2026"),
        ("Tôi chuyển nhà tuần trước", "Tôi chuyển nhà tuần từ 16/11/2026"),
        ("Thi vào thứ năm tuần sau", "Thi vào ngày 3/12/2026"),
        ("Tôi đến đây năm năm trước", "Tôi đến đây năm 2021"),
        ("Hai tuần nữa tôi sinh", "Khoảng 9/12/2026 tôi sinh"),
        ("Tôi tốt nghiệp năm ngoái", "Tôi tốt nghiệp năm 2025"),
        ("我昨天辞职了", "我2026年11月24日辞职了"),
        ("我下周三考试", "我2026年12月2日考试"),
        ("後天我搬家", "2026年11月27日我搬家"),
        ("我两年前结婚", "我2024年结婚"),
        ("三天后手术", "2026年11月28日手术"),
        ("下个月去北京", "2026年12月去北京"),
        ("上週買了車", "2026年11月16日那一周買了車"),
        ("去年毕业", "2025年毕业"),
        ("上周五分手了", "2026年11月20日分手了"),
    ],
)
def test_words_for_days_become_dates(text, expected):
    assert dated(text, WEDNESDAY) == expected


@pytest.mark.parametrize(
    "text",
    [
        "My exam is next Friday",  # in two days, or in nine
        "I lost ten kilos in two months",
        "I run every Friday, and on Mondays",
        "yesterday's bread",
        "I moved recently, some weeks ago",
        "I have lived here for two years",
        "Хожу в бассейн по пятницам",
        "Тренировка в пятницу",
        "Tôi sống ở đây hai năm nay",
        "Gần hai tháng rồi tôi mất ngủ",
        "Trước đây tôi ở Huế",
        "毕业于2015年前后",
        "以前我住在上海",
        "每周三游泳",
        "",
    ],
)
def test_what_is_not_sure_stays(text):
    assert dated(text, WEDNESDAY) == text


def test_a_month_before_january_is_of_the_year_before():
    assert dated("last month", datetime(2027, 1, 31, tzinfo=UTC)) == "in December 2026"


def test_dates_are_not_dated_again():
    for text in ("We moved two weeks ago", "下周三考试", "Свадьба через год", "Hôm qua tôi nghỉ"):
        once = dated(text, WEDNESDAY)
        assert dated(once, datetime(2031, 1, 1, tzinfo=UTC)) == once


@given(st.text(), st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2090, 1, 1)))  # noqa: DTZ001  # any will do
def test_any_text_can_be_read(text, at):
    assert isinstance(dated(text, at), str)
