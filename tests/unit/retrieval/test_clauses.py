"""Which statements a text holds, in four languages: each whole in itself, and nothing cut that belongs together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.retrieval.clauses import MAX_STATEMENTS, _rules, statements

COMPOUND = {
    "My name is Linh. I live in Hanoi and I like coffee.": ["My name is Linh", "I live in Hanoi", "I like coffee"],
    "I live in Hanoi and like coffee": ["I live in Hanoi", "I like coffee"],
    "I'm 41, teach maths and have three kids": ["I'm 41", "I teach maths", "I have three kids"],
    "User lives in Oslo, works as a baker and hates mornings.": [
        "User lives in Oslo",
        "User works as a baker",
        "User hates mornings",
    ],
    "My son has asthma; we own two dogs.": ["My son has asthma", "We own two dogs"],
    "I used to run marathons, but now I swim twice a week": ["I used to run marathons", "Now I swim twice a week"],
    "My email is <EMAIL> and I keep bees near <LOCATION>": ["My email is <EMAIL>", "I keep bees near <LOCATION>"],
    "Tôi tên là Minh, làm bác sĩ và sống ở Huế.": ["Tôi tên là Minh", "Tôi làm bác sĩ", "Tôi sống ở Huế"],
    "Tên mình là Lan, mình ghét mưa nhưng mình thích tuyết": ["Tên mình là Lan", "Mình ghét mưa", "Mình thích tuyết"],
    "Người dùng nuôi hai con mèo và bị dị ứng phấn hoa": [
        "Người dùng nuôi hai con mèo",
        "Người dùng bị dị ứng phấn hoa",
    ],
    "Меня зовут Олег, я живу в Твери и работаю врачом": ["Меня зовут Олег", "Я живу в Твери", "Я работаю врачом"],
    "Мне 30 лет, люблю чай и кино, а мой брат играет на скрипке.": [
        "Мне 30 лет",
        "Я люблю чай и кино",
        "Мой брат играет на скрипке",
    ],
    "Пользователь живёт в Казани и держит кроликов": ["Пользователь живёт в Казани", "Пользователь держит кроликов"],
    "我叫王芳，住在杭州，喜欢爬山。": ["我叫王芳", "我住在杭州", "我喜欢爬山"],
    "我对海鲜过敏，而且我女儿会弹钢琴": ["我对海鲜过敏", "我女儿会弹钢琴"],
    "用户在银行工作，养了一只狗": ["用户在银行工作", "用户养了一只狗"],
}

WHOLE = [
    "My boss told me I am late, I am lazy and I am fired",
    "My brother thinks I am rich and I live in a castle",
    "In the game I am a wizard, I live in a tower and I have a dragon.",
    "I live between Rome and Milan, and I work in both",
    "Tôi mơ thấy tôi là vua, tôi sống trong cung điện.",
    "Мне снилось, что я король, я живу во дворце и у меня есть конь.",
    "我梦见我是国王，我住在宫殿里",
    "他说我住在巴黎，我很有钱。",
    "I like coffee and tea",
    "My wife and I live in Hanoi.",
    "I live and work in Hue.",
    "I have a dog and I love him.",
    "I have a cat. Her name is Mishka.",
    "When I was young, I lived in Hue.",
    "I want to move to Berlin and work as a nurse.",
    "I don't eat meat and drink milk.",
    "My brother lives in Hue and likes tea.",
    "I sleep badly because I work late and I drink coffee",
    "My favourite song is “I live and I learn”",
    'I wrote "I drink tea, I like rain" on the wall',
    "I moved to a house (my parents built it, I painted it) in May",
    "Tôi thích cà phê và trà",
    "Tôi và vợ sống ở Huế",
    "Vợ tôi sống ở Huế và thích trà",
    "Tôi thích đọc sách và chơi cờ",
    "Tôi muốn chuyển đến Berlin và học tiếng Đức",
    "Khi còn nhỏ, tôi sống ở Huế",
    "Я люблю кофе и чай",
    "Мы с женой живём в Твери",
    "Моя жена живёт в Твери и любит чай",
    "Я думаю, что я простудился",
    "У меня есть кот, его зовут Мишка",
    "Я хочу переехать в Берлин и работать врачом",
    "我喜欢咖啡和茶",
    "我妻子住在苏州，喜欢茶",
    "我有一只猫，它叫咪咪",
    "我养了两只猫，叫米米和豆豆",
    "因为我住在苏州，我喜欢园林",
    "我想搬到柏林，学德语",
    "",
    "...",
    "3.5",
]


@pytest.mark.parametrize("text", COMPOUND)
def test_a_compound_is_cut_into_statements_that_stand_alone(text):
    assert list(statements(text)) == COMPOUND[text]


@pytest.mark.parametrize("text", WHOLE)
def test_what_belongs_together_stays_as_it_was_written(text):
    assert statements(text) == (text,)


@pytest.mark.parametrize("text", COMPOUND)
def test_a_statement_is_not_cut_again(text):
    for statement in statements(text):
        assert statements(statement) == (statement,)


def test_a_story_stays_whole():
    assert len(statements(" ".join(f"I like number{n} best." for n in range(MAX_STATEMENTS)))) == MAX_STATEMENTS
    story = " ".join(f"I like number{n} best." for n in range(MAX_STATEMENTS + 1))
    assert statements(story) == (story,)


WORDS = [
    "I",
    "live",
    "in",
    "Hanoi",
    "and",
    ",",
    ".",
    "tôi",
    "và",
    "thích",
    "я",
    "и",
    "люблю",
    "我",
    "，",
    "喜欢",
    "(",
    '"',
]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join)))
def test_no_word_of_a_text_is_lost(text):
    kept = "".join(statements(text)).casefold()
    assert all(each in kept for each in _rules().joint.sub(" ", text).casefold() if each.isalnum())
    assert all(each.strip() for each in statements(text)) or statements(text) == (text,)


@pytest.mark.parametrize(
    "piece", [" ", "\n", ",", ", ", "a,", " and ", "и ", "，", "(", '"', "I'm ", "if I ", "user of the "]
)
def test_a_text_of_nothing_but_joints_stays_whole(piece):
    text = (piece * 4_000)[:4_000]
    assert statements(f"I live in Hue{text}") == (f"I live in Hue{text}",)
