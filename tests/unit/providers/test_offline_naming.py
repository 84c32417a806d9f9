import pytest

from discreet.providers.offline.naming import is_meant, says_all


@pytest.mark.parametrize(
    ("memory", "named"),
    [
        ("I live in Hanoi", "where I live"),
        ("I am allergic to nuts", "my allergy"),
        ("I am Linh, 34, from Hanoi, allergic to nuts", "my allergy"),
        ("My pregnancy is in month 5", "I am pregnant"),
        ("I moved to Berlin", "Berlin"),
        ("I moved to Berlin", "I live in Berlin"),
        ("My e-mail is <EMAIL>", "my e-mail address"),
        ("I keep two parrots", "I am Ann, a nurse, and keep parrots"),
        ("У меня аллергия на орехи", "мою аллергию"),
        ("Я живу в Ханое", "где я живу"),
        ("我搬到柏林了", "柏林的事"),
        ("我对花生过敏", "我对花生的过敏"),
        ("Tôi bị dị ứng đậu phộng", "dị ứng của tôi"),
        ("Tôi đã chuyển đến Huế", "tôi chuyển đến Huế"),
    ],
)
def test_what_tells_the_users_words_or_a_part_of_them_is_meant(memory, named):
    assert is_meant(memory, named)


@pytest.mark.parametrize(
    ("memory", "named"),
    [
        ("I am allergic to nuts", "I am allergic to cats"),
        ("I have a cat named Tom", "I am allergic to cats"),
        ("My sister lives in Rome", "my brother lives in Rome"),
        ("My phone is <PHONE>", "my e-mail"),
        ("My name is Linh", "my name is Anna"),
        ("I was born in 1990", "I was born in 1985"),
        ("I own a red car", "I own a blue car"),
        ("I like tea", "I don't like tea"),
        ("I like tea", "it"),
        ("У меня аллергия на орехи", "у меня аллергия на кошек"),
        ("Я играю в шахматы", "я играю в футбол"),
        ("我叫小林", "我叫小王"),
        ("我对花生过敏", "我对猫过敏"),
        ("Tôi bị dị ứng đậu phộng", "tôi bị dị ứng hải sản"),
        ("Tôi tên là Minh", "tôi tên là Lan"),
    ],
)
def test_what_has_another_value_is_not(memory, named):
    assert not is_meant(memory, named)


@pytest.mark.parametrize(
    ("memory", "named", "is_same"),
    [
        ("I am pregnant with twins", "I am pregnant", True),
        ("My sister is pregnant", "I am pregnant", False),
        ("I am not pregnant", "I am pregnant", False),
        ("I am tired", "I am pregnant", False),
        ("I was in Rome in 1990", "I was in Rome in 1985", False),
        ("I live with two flatmates", "where I live", False),
    ],
)
def test_facts_that_have_all_of_the_words_say_the_same_and_more(memory, named, is_same):
    assert says_all(memory, named) is is_same
