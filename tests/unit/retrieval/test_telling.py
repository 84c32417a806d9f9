"""What has to go with a fact is known by its words."""

import tomllib
from pathlib import Path

import pytest

from discreet.retrieval.telling import teller, tells

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


@pytest.mark.parametrize(("text", "fact"), TOLD)
def test_a_text_that_shares_a_name_or_much_of_the_words_tells_the_fact(text, fact):
    assert tells(text, fact)


@pytest.mark.parametrize(("text", "fact"), UNTOLD)
def test_a_text_about_something_else_does_not(text, fact):
    assert not tells(text, fact)


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
