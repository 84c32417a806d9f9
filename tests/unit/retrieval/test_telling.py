"""What has to go with a fact is known by its words."""

import tomllib
from pathlib import Path

import pytest

from discreet.retrieval.phrases import cut, unit
from discreet.retrieval.telling import teller, tells
from discreet.retrieval.word_forms import beginning, folded, root

SETS = Path(__file__).resolve().parents[3] / "benchmarks" / "summary_sets"

TOLD = [
    ("I'm allergic to peanuts.", "The user is allergic to peanuts"),
    ("I can't have peanut butter, what else?", "User has a severe peanut allergy"),
    ("What's the weather in Hanoi?", "I live in Hanoi."),
    ("Bello is sick", "My dog is called Bello"),
    ("I'm a nurse at the Charité.", "The user works as a nurse at the Charité hospital and has night shifts"),
    ("I earn 4200 a month.", "My salary is 4,200 euros"),
    ("Use 4711 for the locker", "The locker code of the user is 4711"),
    ("Món này có đậu phộng không?", "Tôi bị dị ứng với đậu phộng"),
    ("toi bi di ung dau phong", "Người dùng bị dị ứng đậu phộng"),
    ("Thời tiết ở Hà Nội thế nào?", "Tôi sống ở Hà Nội."),
    ("В этом есть арахис?", "Пользователь не ест арахис"),
    ("Какая погода в Ханое?", "Я живу в Ханое."),
    ("Мои попугаи кричат", "Я держу двух попугаев."),
    ("花生酱可以吃吗", "用户对花生过敏"),
    ("河内天气如何？", "我住在河内。"),
    ("豆豆病了", "我的狗叫豆豆"),
    ("我的鹦鹉会说话", "我养了两只鹦鹉。"),
]
UNTOLD = [
    ("I like tea a lot.", "I live in Hanoi."),
    ("My favourite food is pho", "My favourite colour is green"),
    ("I have a cat.", "I have a dog."),
    ("My name is Ann.", "My dog is called Bello"),
    ("The user said hello.", "The user keeps parrots"),
    ("Tôi nuôi một con mèo.", "Tôi bị dị ứng với đậu phộng"),
    ("Tôi nuôi một con mèo.", "Tôi nuôi hai con vẹt."),
    ("Я люблю чай.", "Я живу в Ханое."),
    ("我养了一只猫", "我养了两只鹦鹉。"),
    ("这个护肤品适合敏感肌肤", "我对花生过敏"),
    ("我妹妹要来", "我妹妹安娜住在柏林"),
    ("What's the weather like?", "I like coffee."),
    ("How does this work?", "I work at Siemens."),
    ("I love this song.", "I love my wife."),
    ("The vet said her teeth are bad.", "My doctor said I have diabetes."),
    ("Tôi thích bóng đá.", "Tôi thích cà phê."),
    ("Я люблю эту песню.", "Я люблю кофе."),
    ("她喜欢种花。", "我喜欢咖啡。"),
    ("", "I live in Hanoi."),
    ("I live in Hanoi.", "It is what it is."),
]

NAMES_TOLD = [
    ("Nice is hot in June.", "The user lives in Nice"),
    ("Where does one eat in Nice?", "The user lives in Nice"),
    ("I had a row with Frank", "The user's husband is called Frank"),
    ("Frank forgot the keys", "The user's husband is called Frank"),
    ("Mark's car broke down.", "The user's husband is Mark"),
    ("Will has a fever", "The user's son is called Will"),
    ("Is May ill?", "The user's friend May is ill"),
    ("i miss lisbon", "The user moved to Lisbon"),
    ("Lisbon is far away.", "We stayed in Belem, Lisbon"),
    ("Căn hộ của tôi ở Berlin rất nhỏ", "Người dùng đã chuyển đến Berlin"),
    ("berlin lạnh quá", "Người dùng đã chuyển đến Berlin"),
    ("Prozac làm tôi mệt", "Người dùng uống Prozac"),
    ("penicillin làm tôi ngứa", "Người dùng dị ứng penicillin"),
    ("Tom giận tôi", "Người dùng có chồng tên Tom"),
    ("Ở Huế trời mưa suốt", "Người dùng đã chuyển đến Huế"),
    ("ở huế trời mưa suốt", "Người dùng đã chuyển đến Huế"),
    ("ở huế mưa\nMưa nhiều nhất vào tháng mười.", "Người dùng đã chuyển đến Huế"),
    ("o hue troi mua suot\nNgười Việt Nam nào cũng biết.", "Người dùng đã chuyển đến Huế"),
    ("Tôi đón Mai ở trường", "Con gái người dùng tên Mai"),
    ("Mèo của tôi cào ghế", "Người dùng có 2 con mèo"),
    ("Вера заболела", "Дочь пользователя зовут Вера"),
    ("Из Орла идёт поезд?", "Пользователь живёт в Орле"),
    ("Nice的海很蓝", "用户住在Nice"),
]
EVERYDAY = [
    ("That is a nice idea, thanks.", "The user lives in Nice"),
    ("Nice work!", "The user lives in Nice"),
    ("To be frank, I disliked it.", "The user's husband is called Frank"),
    ("Please mark question 4 as done", "The user's husband is Mark"),
    ("Will you help me?", "The user's son is called Will"),
    ("Mark the box in the form", "The user's husband is Mark"),
    ("It may rain. May I ask why?", "The user's friend May is ill"),
    ("Trời nhiều mây", "Con gái người dùng tên Mây"),
    ("Ngày mai trời mưa không?", "Con gái tôi tên Mai"),
    ("Mai tôi đi Huế", "Con gái tôi tên Mai"),
    ("Món ăn Việt Nam nào ngon?", "Con trai người dùng tên Nam"),
    ("Hoa huệ đẹp", "Tôi sống ở Huế"),
    ("Cho tôi một ly nước", "Người dùng ly hôn"),
    ("theo lời bạn thì uống sau ăn", "Bạn của tôi tên Sáu"),
    ("Посоветуй хороший роман", "Мужа пользователя зовут Роман"),
    ("Какой раздел идёт левее?", "Мужа пользователя зовут Лев"),
    ("Моя вера в людей слаба", "Дочь пользователя зовут Вера"),
    ("这个词nice怎么翻译", "用户住在Nice"),
]
SMALL_NUMBERS = [
    ("Give me 3 ideas for dinner", "The user has 3 children"),
    ("List the 5th film", "The user lives on the 5th floor"),
    ("Встреча в 6", "Дочери пользователя 6 лет"),
    ("Kể 3 bộ phim", "Người dùng có 3 đứa con"),
    ("第3章很无聊", "用户有3个孩子"),
]
FORMS = [
    ("Smoking makes me cough", "The user smokes"),
    ("I could fly over", "The user hates flying"),
    ("мой пёс болен", "Пользователь завёл пса"),
    ("Я гуляю с псом", "У меня есть пёс"),
    ("Льва не было дома", "Меня зовут Лев"),
    ("Козёл съел забор", "Пользователь завёл козла"),
    ("Отца похоронили", "Отец пользователя умер"),
    ("жене делают УЗИ", "Жена пользователя беременна"),
]
OTHER_WORDS = [
    ("Кто пришёл?", "У меня есть кот"),
    ("Какой бог правит морем?", "Я полюбил бег"),
    ("Гордый народ", "Это мой родной город"),
    ("Все пришли", "Мой вес растёт"),
]


@pytest.mark.parametrize(("text", "fact"), TOLD)
def test_a_text_that_shares_a_name_or_much_of_the_words_tells_the_fact(text, fact):
    assert tells(text, fact)


@pytest.mark.parametrize(("text", "fact"), UNTOLD)
def test_a_text_about_something_else_does_not(text, fact):
    assert not tells(text, fact)


@pytest.mark.parametrize(("text", "fact"), NAMES_TOLD)
def test_a_name_is_enough_where_it_is_written_as_one_or_no_everyday_word(text, fact):
    assert tells(text, fact)


@pytest.mark.parametrize(("text", "fact"), EVERYDAY)
def test_the_everyday_word_that_is_spelt_like_a_name_is_not(text, fact):
    assert not tells(text, fact)


@pytest.mark.parametrize("digit", "9²٣")
def test_a_number_of_any_length_is_looked_for(digit):
    assert tells(f"My number is {digit * 5_000}", f"The user's number is {digit * 5_000}")


def test_an_everyday_word_counts_beside_another_word_of_the_fact():
    assert tells("her friend may come", "The user's friend May is ill")


@pytest.mark.parametrize(("text", "fact"), SMALL_NUMBERS)
def test_a_small_number_alone_tells_nothing(text, fact):
    assert not tells(text, fact)


def test_a_number_that_is_not_small_tells():
    assert tells("At 34 one is old.", "The user is 34 years old")


@pytest.mark.parametrize(("text", "fact"), FORMS)
def test_another_form_of_a_word_tells_the_fact(text, fact):
    assert tells(text, fact)


@pytest.mark.parametrize(("text", "fact"), OTHER_WORDS)
def test_a_word_that_differs_in_a_vowel_is_no_form(text, fact):
    assert not tells(text, fact)


@pytest.mark.parametrize("language", ["en", "vi", "ru", "zh"])
def test_every_word_is_found_in_the_letters_of_a_text_before_it_is_cut(language):
    words = set(cut((SETS / f"{language}.toml").read_text()))
    assert [each for each in words if beginning(root(unit(each))) not in folded(each)] == []


def test_a_fact_of_several_clauses_is_told_by_one_of_them():
    fact = "My name is Ann, I live in Hanoi, and I drink coffee."
    assert tells("It rains in Hanoi.", fact)
    assert tells("Where is good coffee to drink?", fact)


def test_a_word_in_front_of_a_fact_is_no_part_of_it():
    assert not tells("Is there another way?", "By the way, I am allergic to peanuts")
    assert tells("I am vegan, you know.", "Vegan")


def test_words_far_apart_in_a_long_answer_tell_nothing():
    fact = "I bought a green bicycle in spring"
    filler = "There is nothing to see here. " * 3
    assert not tells(f"The wall is green. {filler}She bought it. {filler}", fact)


@pytest.mark.parametrize("language", ["en", "vi", "ru", "zh"])
def test_few_rounds_about_something_else_are_taken_along(language):
    data = tomllib.loads((SETS / f"{language}.toml").read_text())
    facts = [fact for thread in data["threads"] for fact in thread["facts"]]
    rounds = ["\n".join(each) for each in data["talk"]]
    told = 0
    for fact in facts:
        tells_it = teller([fact["said"]])
        assert tells_it(fact["said"])
        told += sum(map(tells_it, rounds))
    assert told / (len(facts) * len(rounds)) < 0.05
