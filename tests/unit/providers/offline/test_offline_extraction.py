"""What the rules take from a user's turns, and what they leave."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.prompts.extraction import EXTRACTION_SCHEMA, SaidTurn
from discreet.providers.offline.extraction import extract

AT = datetime(2026, 11, 25, 9, 30, tzinfo=UTC)


def told(*said, **options):
    return [item["text"] for item in extract([SaidTurn(AT, each) for each in said], **options)["items"]]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I'm allergic to peanuts, what can I order?", ["I'm allergic to peanuts"]),
        ("Hi! By the way, I live in Leeds.", ["I live in Leeds"]),
        ("My name's Declan and I'm a paramedic in Cork.", ["My name's Declan", "I'm a paramedic in Cork"]),
        ("I have a cat. Her name is Mishka.", ["I have a cat. Her name is Mishka"]),
        ("As a nurse on night shifts, how do I sleep?", ["I'm a nurse on night shifts"]),
        ("We're moving to Da Nang in March", ["We're moving to Da Nang in March"]),
        ("I sold my car yesterday", ["I sold my car on 24 November 2026"]),
        ("I don't eat meat. I'm not married.", ["I don't eat meat", "I'm not married"]),
        ("Please call me Max", ["Please call me Max"]),
        ("My daughter starts school in September, any tips?", ["My daughter starts school in September"]),
        ("Я живу в Туле, посоветуй кафе", ["Я живу в Туле"]),
        ("У меня кот Барсик", ["У меня кот Барсик"]),
        ("Свинину не ем. Мне 58.", ["Свинину не ем", "Мне 58"]),
        ("Мы женимся в следующем году!", ["Мы женимся в 2027 году"]),
        ("Chào bạn, mình tên Khoa, làm điều dưỡng", ["Mình tên Khoa, làm điều dưỡng"]),
        ("Em dị ứng tôm, nấu gì được ạ?", ["Em dị ứng tôm"]),
        ("Tháng sau tôi cưới.", ["Tháng 12/2026 tôi cưới"]),
        ("你好，我叫李明。", ["我叫李明"]),
        ("我對花生過敏，能吃什麼？", ["我對花生過敏"]),
        ("我养了两只猫。它们叫咪咪和豆豆。", ["我养了两只猫。它们叫咪咪和豆豆"]),
        ("我下周三做手术", ["我2026年12月2日做手术"]),
        # typed without apostrophes, or short
        ("im sober since may and i dont drive", ["I'm sober since may", "I don't drive"]),
        ("Mik dị ứng phấn hoa", ["Mình dị ứng phấn hoa"]),
        # verbs that no list has
        ("I solder circuit boards for a living", ["I solder circuit boards for a living"]),
        ("Я паяю платы на заводе", ["Я паяю платы на заводе"]),
        ("Tôi hàn bo mạch ở xưởng", ["Tôi hàn bo mạch ở xưởng"]),
        ("我焊电路板焊了二十年", ["我焊电路板焊了二十年"]),
        # said by the way in a question or request
        ("What can I bake for my coeliac daughter?", ["My coeliac daughter"]),
        ("What should a 58-year-old with a stent eat?", ["I'm a 58-year-old with a stent"]),
        ("Какой торт купить для моей сестры с диабетом?", ["Для моей сестры с диабетом"]),
        ("我有哮喘能游泳吗？", ["我有哮喘"]),
        # a clause that goes on about the one before
        ("We live with my aunt, who uses a wheelchair", ["We live with my aunt, who uses a wheelchair"]),
        ("Я пекарь, встаю в три ночи", ["Я пекарь, встаю в три ночи"]),
        ("我是护士，每天倒班", ["我是护士，每天倒班"]),
        ("Em là thợ may, nhận đồ ở nhà", ["Em là thợ may, nhận đồ ở nhà"]),
        ("Married, two kids", ["Married, two kids"]),
        ("I smoked for years. Quit when I turned forty.", ["I smoked for years. Quit when I turned forty"]),
        ("I love green tea. Allergic to peanuts.", ["I love green tea", "Allergic to peanuts"]),
        ("Since the accident I walk with a stick", ["Since the accident I walk with a stick"]),
        ("Always answer in Celsius.", ["Always answer in Celsius"]),
    ],
)
def test_what_a_user_states_is_taken(said, expected):
    assert told(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "Where do I live?",
        "If I had a dog, I'd call him Rex.",
        "Suppose I live in Sweden with two children, how long is parental leave?",
        "I might buy a house, not sure.",
        "Translate to Spanish: I live in Madrid and I work as a nurse.",
        'Please proofread: "I am a nurse and I am relocating to Dublin with my family."',
        "Sure, because I totally have time to run a marathon /s",
        "Let's roleplay: I'm a knight and I have three daughters.",
        "Don't save this, but I'm seeing a therapist.",
        "I'm tired today.",
        "I have a question.",
        "I want you to write a poem.",
        "Harry Potter lives with his aunt.",
        "From: anna@example.com\nSubject: Hi\n\nI live in Leeds now.",
        '{"name": "Ben", "age": 34}\nturn this into yaml',
        "My name is <PERSON>.",
        "My phone number is <PHONE>.",
        "Если бы у меня была собака, я бы назвал её Рекс.",
        "Переведи: «Меня зовут Оля, у меня есть брат».",
        "Забудь, что я живу в Берлине.",
        "Ага, конечно, я просто мечтаю платить налоги.",
        "Может, переедем в Канаду.",
        "Меня зовут <PERSON>.",
        "Nếu tôi có một con chó thì tôi sẽ đặt tên là Rex.",
        "Dịch sang tiếng Anh: tôi sống ở Hà Nội.",
        "Đừng lưu nhé, mình đang đi gặp bác sĩ tâm lý.",
        "Mình mệt quá",
        "如果我有一条狗，我会叫它旺财。",
        "翻译成英文：我住在北京，是一名医生。",
        "别记下来，我在看心理医生。",
        "呵呵，我最喜欢交税了。",
        "我可能怀孕了",
        "I fixed it yesterday",
        "I sleep under them.",
        "Find five names for a bakery, nothing with sugar in it",
        "In this game I'm a ranger and my brother betrayed the guild.",
        "Can you be my boss? I've worked here for five years.",
        "You're the waiter, I'm allergic to shellfish and my wife is vegan.",
        "Name: Kael. Age: 212. Occupation: hunter. I was raised by wolves.",
        "I'm a knight, my king is dead and I guard the castle.",
        "Wonderful, another Monday. I live for status meetings.",
        "My superpower is burning water.",
        "I have a PhD in procrastination",
        "Hi Mark, I live closer to the office now. Best regards, Lena",
        "Ivanov — fitter — holiday in July\nPak — welder — holiday in May\nsort by month",
        "Побудь моим начальником. Я работаю у вас пять лет.",
        "Ты экзаменатор, я студент. Я живу в общаге.",
        "Ну красота, опять отключили воду. Обожаю мыться из ковшика.",
        "Я же миллиардер, мне омаров возят.",
        "Bạn là bác sĩ, mình là bệnh nhân. Mình đau bụng ba ngày nay.",
        "Hay quá ha, lại mất điện, mình thích ngồi trong bóng tối lắm.",
        "你是面试官，我是应聘者。我有十年工作经验。",
        "太好了，又停电，我最享受摸黑洗澡了。",
        "我的超能力是把饭烧糊",
        "",
        "   ",
    ],
)
def test_what_is_not_stated_is_left(said):
    assert told(said) == []


def test_items_have_the_shape_of_the_schema():
    answer = extract([SaidTurn(AT, "I'm allergic to peanuts."), SaidTurn(AT, "My dad passed away yesterday.")])
    shape = EXTRACTION_SCHEMA["properties"]
    for name in ("items", "moments"):
        assert answer[name]
        for each in answer[name]:
            assert list(each) == shape[name]["items"]["required"]
            assert 1 <= each["importance"] <= 10
            assert 0 <= each["confidence"] <= 1
    assert answer["items"][0]["sources"] == ["t1"]
    assert [(each["kind"], each["sources"]) for each in answer["moments"]] == [("milestone", ["t2"])]


@pytest.mark.parametrize(
    ("said", "type_", "least"),
    [
        ("I'm allergic to peanuts", "user_fact", 8),
        ("I work as a baker", "user_fact", 6),
        ("I love jazz", "preference", 4),
        ("Please call me Max", "preference", 6),
        ("We're moving to Da Nang in March", "event", 5),
        ("My goal is to run a marathon", "conversation_insight", 5),
    ],
)
def test_items_have_type_and_importance(said, type_, least):
    (item,) = extract([SaidTurn(AT, said)])["items"]
    assert item["type"] == type_
    assert item["importance"] >= least


def test_a_fact_that_is_said_twice_is_one_item_of_two_sources():
    (item,) = extract([SaidTurn(AT, "I live in Leeds."), SaidTurn(AT, "I live in Leeds!")])["items"]
    assert item["sources"] == ["t1", "t2"]


def test_a_known_fact_needs_nothing():
    (item,) = extract([SaidTurn(AT, "I live in Leeds.")], known=["I have a dog", "i live in leeds"])["items"]
    assert item["action"] == "nothing"


def test_a_fact_beside_a_question_is_less_sure():
    (plain,) = extract([SaidTurn(AT, "I live in Leeds.")])["items"]
    (beside,) = extract([SaidTurn(AT, "I live in Leeds, where can I swim?")])["items"]
    assert beside["confidence"] < plain["confidence"]


def test_what_was_to_be_forgotten_is_left_out():
    said = "I live in Leeds. I'm allergic to peanuts."
    assert told(said, forgotten=["The user has a peanut allergy"]) == ["I live in Leeds"]


@given(st.text(max_size=200))
def test_any_text_can_be_read(said):
    extract([SaidTurn(AT, said)])


@pytest.mark.parametrize("piece", ["I really ", "всё ещё ", "我每天早上", "tôi hay ", '"', "a: b\n", "my ", " ", "- "])
def test_long_texts_take_no_time(piece):
    told(piece)
    started = time.process_time()
    told(piece * 3_000)
    assert time.process_time() - started < 1
