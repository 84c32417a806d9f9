"""Why a memory is found, in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.api.admin.recall import Rules, explain, shared_words
from discreet.retrieval.tokens import tokens
from discreet.state.records import MemoryRecord, ScoredMemory

RULES = Rules(limit=2, threshold=0.6, semantic=True)


def hit(text, similarity=0.0, score=0.5, **fields):
    return ScoredMemory(record=MemoryRecord(text=text, **fields), score=score, similarity=similarity)


@pytest.mark.parametrize(
    ("question", "text", "shared"),
    [
        ("Which PARROTS does she own?", "Ann keeps a parrot", ["PARROTS"]),
        ("Где живут её кошки?", "Кошка живёт у Анны", ["кошки"]),
        ("Cô ấy thích phở bò không", "Thích phở", ["thích", "phở", "thích phở"]),
        ("她住在上海吗", "住在上海", ["住", "上", "海", "住在", "在上", "上海"]),
        ("What is it?", "What is it?", []),
    ],
)
def test_shared_words_are_those_of_the_search_as_the_question_writes_them(question, text, shared):
    found = shared_words(question, text)
    assert set(shared) <= set(found)
    assert bool(found) == bool(shared)


@given(st.text(max_size=60), st.text(max_size=60))
def test_there_are_shared_words_exactly_if_the_search_has_tokens_in_common(question, text):
    assert bool(shared_words(question, text)) == bool(set(tokens(question)) & set(tokens(text)))


def test_a_shared_word_is_exempt_from_the_threshold():
    (told,) = explain("parrots?", [hit("a parrot", 0.1)], [], RULES)
    assert told.place == 1
    assert told.reason == "It shares the word “parrots” with the question. Then its similarity does not matter."


def test_a_near_meaning_needs_no_word():
    (told,) = explain("birds?", [hit("a parrot", 0.7)], [], RULES)
    assert told.place == 1
    assert "near enough: 0.700, and 0.600 is asked for" in told.reason


def test_what_is_neither_is_left_out_and_the_figures_say_why():
    (told,) = explain("trains?", [], [hit("a parrot", 0.5996)], RULES)
    assert told.place is None
    assert "not near enough: 0.599, where 0.600 is asked for" in told.reason


def test_more_than_the_limit_are_left_out():
    chosen = [hit("a parrot"), hit("two parrots")]
    told = explain("parrots?", chosen, [*chosen, hit("three parrots"), hit("fly", 0.9)], RULES)
    assert [each.place for each in told] == [1, 2, None, None]
    assert "only the best 2 are taken" in told[2].reason
    assert told[3].reason.startswith("Its meaning is near enough, but others come before it")


def test_what_contradicts_a_found_one_comes_along():
    (told,) = explain("parrots?", [hit("gave her birds away", 0.1, conflict_flags=["x"])], [], RULES)
    assert "may contradict" in told.reason


def test_a_few_facts_are_told_all():
    rules = Rules(limit=2, threshold=0.6, semantic=True, few=12)
    fact, turn = explain(
        "trains?", [hit("a parrot", 0.1), hit("a parrot", 0.1, type="turn", thread_id="t", position=1)], [], rules
    )
    assert "No more than 12 facts are known" in fact.reason
    assert "said beside words of the question" in turn.reason


def test_without_meanings_only_words_are_spoken_of():
    (told,) = explain("trains?", [], [hit("a parrot", 0.9)], Rules(limit=2, threshold=0.6, semantic=False))
    assert "words are all that is compared here" in told.reason
