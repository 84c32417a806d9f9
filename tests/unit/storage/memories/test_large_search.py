"""Which words of a question are looked up."""

from __future__ import annotations

from discreet.retrieval.lexical import CONTEXT
from discreet.storage.memories.large_users.search import MOST_READ, rarest
from discreet.storage.memories.token_frequencies import inverse_document_frequency

CORPUS = 70_000


def question(**documents):
    """Return how rare the words are, named w and their dimension, that are in as many documents."""
    return {int(word[1:]): inverse_document_frequency(CORPUS, count) for word, count in documents.items()}


def both(*places):
    """Return where words stand that are a memory's own, and that its neighbours have."""
    return [each for place in places for each in (place, CONTEXT + place)]


def test_no_word_is_no_place():
    assert rarest({}, CORPUS) == []


def test_places_count_from_one_and_the_rarest_comes_first():
    assert rarest(question(w5=100, w9=3, w7=0), CORPUS) == both(8, 10, 6)


def test_words_are_taken_until_they_are_in_as_many_memories_as_may_be_read():
    assert rarest(question(w1=MOST_READ // 2, w2=MOST_READ // 3, w3=MOST_READ // 2 + 1), CORPUS) == both(3, 2)


def test_the_rarest_word_is_always_looked_up():
    assert rarest(question(w1=CORPUS, w2=CORPUS // 2), CORPUS) == both(3)


def test_a_small_part_of_all_memories_has_a_small_part_of_the_words():
    assert rarest(question(w1=CORPUS, w2=CORPUS // 2), 1_000) == both(3, 2)
